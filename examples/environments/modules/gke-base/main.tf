variable "project_id" {
  type        = string
  description = "The project."
}

variable "region" {
  type        = string
  description = "The region."
}

variable "cluster_name" {
  type        = string
  description = "The cluster."
}

variable "namespace" {
  type        = string
  description = "The namespace whose service accounts act as the account."
}

variable "domains" {
  type        = set(string)
  description = "The domains: each has a service account of its name."
}

resource "google_container_cluster" "this" {
  project             = var.project_id
  location            = var.region
  name                = var.cluster_name
  enable_autopilot    = true
  deletion_protection = true

  workload_identity_config {
    workload_pool = "${var.project_id}.svc.id.goog"
  }
}

resource "google_service_account" "workloads" {
  project    = var.project_id
  account_id = "${var.cluster_name}-workloads"
}

resource "google_service_account_iam_member" "workloads" {
  for_each           = var.domains
  service_account_id = google_service_account.workloads.name
  role               = "roles/iam.workloadIdentityUser"
  member             = "serviceAccount:${var.project_id}.svc.id.goog[${var.namespace}/${each.value}]"
}

output "endpoint" {
  description = "The address of the cluster's API."
  value       = "https://${google_container_cluster.this.endpoint}"
}

output "service_account_annotations" {
  description = "Annotations by which service accounts of Pods act as the account (Workload Identity)."
  value       = { "iam.gke.io/gcp-service-account" = google_service_account.workloads.email }
}

output "provides" {
  description = "What domains can rely on."
  value       = { compute = "kubernetes", workload_identity = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["container.googleapis.com"]
}
