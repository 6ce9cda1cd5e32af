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
  description = "The name of the system."
}

resource "google_service_account" "services" {
  project      = var.project_id
  account_id   = var.name
  display_name = "Services of ${var.name}"
}

resource "google_project_iam_member" "services" {
  for_each = toset(["roles/cloudsql.client", "roles/pubsub.publisher", "roles/pubsub.subscriber", "roles/secretmanager.secretAccessor"])
  project  = var.project_id
  role     = each.value
  member   = "serviceAccount:${google_service_account.services.email}"
}

output "service_account" {
  description = "The account that services run as."
  value       = google_service_account.services.email
}

output "provides" {
  description = "What domains can rely on."
  value       = { compute = "cloud-run", region = var.region }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["run.googleapis.com", "iam.googleapis.com"]
}
