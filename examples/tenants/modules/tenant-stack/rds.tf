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

  # It goes with its tenant, and with all that is in it. Example 2 keeps its database.
  skip_final_snapshot = true

  tags = local.tags
}
