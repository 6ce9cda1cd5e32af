variable "identifier" {
  type        = string
  description = "The name of the instance."
}

variable "subnet_ids" {
  type        = list(string)
  description = "The subnets of the instance."
}

variable "security_group_ids" {
  type        = list(string)
  description = "The security groups of the instance."
}

resource "random_password" "app" {
  length  = 32
  special = false
}

resource "aws_db_subnet_group" "this" {
  name       = var.identifier
  subnet_ids = var.subnet_ids
}

resource "aws_db_instance" "this" {
  identifier             = var.identifier
  engine                 = "postgres"
  instance_class         = "db.t4g.small"
  allocated_storage      = 20
  username               = "app"
  password               = random_password.app.result
  db_subnet_group_name   = aws_db_subnet_group.this.name
  vpc_security_group_ids = var.security_group_ids
  skip_final_snapshot    = false
}

resource "aws_secretsmanager_secret" "uri" {
  name = "${var.identifier}-uri"
}

resource "aws_secretsmanager_secret_version" "uri" {
  secret_id     = aws_secretsmanager_secret.uri.id
  secret_string = "postgres://app:${random_password.app.result}@${aws_db_instance.this.address}:5432/postgres"
}

output "storage" {
  description = "The storage, for domains. The address with the password is in the secret."
  value       = { type = "postgres", uri = "postgres://${aws_db_instance.this.address}:5432/postgres", secret = aws_secretsmanager_secret.uri.arn }
}

output "provides" {
  description = "What domains can rely on."
  value       = { event_store = true, position_store = true, snapshot_store = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = []
}
