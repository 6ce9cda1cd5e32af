variable "project_id" {
  type        = string
  description = "The project."
}

variable "region" {
  type        = string
  description = "The region."
}

variable "name" {
  type        = string
  description = "The name of the instance."
}

variable "tier" {
  type        = string
  description = "The size of the instance."
  default     = "db-custom-1-3840"
}

resource "random_password" "app" {
  length  = 32
  special = false
}

resource "google_sql_database_instance" "this" {
  project             = var.project_id
  region              = var.region
  name                = var.name
  database_version    = "POSTGRES_17"
  deletion_protection = true

  settings {
    tier = var.tier
  }
}

resource "google_sql_user" "app" {
  project  = var.project_id
  instance = google_sql_database_instance.this.name
  name     = "app"
  password = random_password.app.result
}

resource "google_secret_manager_secret" "uri" {
  project   = var.project_id
  secret_id = "${var.name}-uri"

  replication {
    auto {}
  }
}

resource "google_secret_manager_secret_version" "uri" {
  secret      = google_secret_manager_secret.uri.id
  secret_data = "postgres://app:${random_password.app.result}@/postgres?host=/cloudsql/${google_sql_database_instance.this.connection_name}"
}

output "storage" {
  description = "The storage, for domains. The address with the password is in the secret."
  value       = { type = "postgres", uri = "postgres:///postgres?host=/cloudsql/${google_sql_database_instance.this.connection_name}", secret = google_secret_manager_secret.uri.secret_id }
}

output "provides" {
  description = "What domains can rely on."
  value       = { event_store = true, position_store = true, snapshot_store = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["sqladmin.googleapis.com", "secretmanager.googleapis.com"]
}
