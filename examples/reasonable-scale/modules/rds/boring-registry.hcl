metadata {
  namespace = "acme"
  name      = "rds"
  provider  = "aws"
  version   = "0.1.0"
}
