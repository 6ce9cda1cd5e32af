variable "project_id" {
  type        = string
  description = "The project."
}

variable "region" {
  type        = string
  description = "The region."
}

variable "service_account" {
  type        = string
  description = "The account that services run as: the output of cloudrun-base."
}

locals {
  urls = { for name, service in google_cloud_run_v2_service.component : name => service.uri }
}

resource "google_cloud_run_v2_service" "component" {
  for_each = local.components
  project  = var.project_id
  location = var.region
  name     = "${var.domain}-${each.key}"
  ingress  = "INGRESS_TRAFFIC_INTERNAL_ONLY"

  template {
    service_account = var.service_account

    scaling {
      min_instance_count = each.key == "aggregate" ? var.aggregate.min_instances : 0
      max_instance_count = each.value.max_instances
    }

    containers {
      image = each.value.image

      dynamic "env" {
        for_each = local.env
        content {
          name  = env.key
          value = env.value
        }
      }

      dynamic "env" {
        for_each = var.storage.secret == null ? [] : [var.storage.secret]
        content {
          name = "STORAGE_URI"
          value_source {
            secret_key_ref {
              secret  = env.value
              version = "latest"
            }
          }
        }
      }
    }
  }
}
