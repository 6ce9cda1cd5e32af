variable "project_id" {
  type        = string
  description = "The project."
}

variable "name" {
  type        = string
  description = "The name of the topic."
}

resource "google_pubsub_topic" "events" {
  project = var.project_id
  name    = var.name
}

resource "google_pubsub_topic" "dead" {
  project = var.project_id
  name    = "${var.name}-dead"
}

output "bus" {
  description = "The bus, for domains."
  value       = { type = "pubsub", uri = "pubsub://${var.project_id}/${google_pubsub_topic.events.name}" }
}

output "dead_letter_topic" {
  description = "Where events go that nobody could handle."
  value       = google_pubsub_topic.dead.name
}

output "provides" {
  description = "What domains can rely on."
  value       = { ordered = true, durable = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["pubsub.googleapis.com"]
}
