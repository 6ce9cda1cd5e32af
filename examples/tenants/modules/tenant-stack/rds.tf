resource "random_password" "db" {
  length           = 32
  override_special = "!#$%&*()-_=+[]{}<>:?" # RDS takes neither of / @ " nor a blank
}

resource "aws_db_instance" "db" {
  identifier        = "tenant-${var.tenant_id}-${var.environment}"
  engine            = "postgres"
  engine_version    = "16"
  instance_class    = "db.t3.micro"
  allocated_storage = 20
  storage_encrypted = true

  db_name  = "tenant_${replace(var.tenant_id, "-", "_")}"
  username = "dbadmin"
  password = random_password.db.result

  # The database and its data are deleted with the tenant. Example 2 keeps them.
  skip_final_snapshot = true

  tags = local.tags
}
