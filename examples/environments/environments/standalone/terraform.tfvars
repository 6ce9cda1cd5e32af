data_dir = "/var/lib/shop"
