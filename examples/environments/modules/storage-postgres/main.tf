variable "name" {
  type        = string
  description = "The name of the server."
}

variable "namespace" {
  type        = string
  description = "The namespace of all objects."
}

variable "size" {
  type        = string
  description = "The size of a new volume. One that exists keeps its size."
  default     = "1Gi"
}

resource "random_password" "admin" {
  length  = 32
  special = false
}

locals {
  user = "app"
  host = "${var.name}.${var.namespace}.svc"
  uri  = "postgres://${local.user}:${random_password.admin.result}@${local.host}:5432"
}

resource "kubernetes_secret_v1" "admin" {
  metadata {
    name      = var.name
    namespace = var.namespace
  }
  data = { password = random_password.admin.result, uri = local.uri }
}

resource "kubernetes_stateful_set_v1" "server" {
  metadata {
    name      = var.name
    namespace = var.namespace
  }

  spec {
    service_name = var.name
    replicas     = 1

    update_strategy {
      type = "RollingUpdate"

      rolling_update {
        partition = 0
      }
    }

    selector {
      match_labels = { "app.kubernetes.io/name" = var.name }
    }

    template {
      metadata {
        labels = { "app.kubernetes.io/name" = var.name }
      }

      spec {
        container {
          name  = "main"
          image = "postgres:17"

          env {
            name  = "POSTGRES_USER"
            value = local.user
          }

          env {
            name = "POSTGRES_PASSWORD"
            value_from {
              secret_key_ref {
                name = kubernetes_secret_v1.admin.metadata[0].name
                key  = "password"
              }
            }
          }

          # A file system has a directory lost+found, which PostgreSQL refuses.
          env {
            name  = "PGDATA"
            value = "/var/lib/postgresql/data/pgdata"
          }

          port {
            container_port = 5432
          }

          volume_mount {
            name       = "data"
            mount_path = "/var/lib/postgresql/data"
          }
        }
      }
    }

    volume_claim_template {
      metadata {
        name = "data"
      }

      spec {
        access_modes = ["ReadWriteOnce"]
        resources {
          requests = { storage = var.size }
        }
      }
    }
  }
}

resource "kubernetes_service_v1" "server" {
  metadata {
    name      = var.name
    namespace = var.namespace
  }

  spec {
    selector = { "app.kubernetes.io/name" = var.name }

    port {
      port = 5432
    }
  }
}

output "storage" {
  description = "The storage, for domains. The address with the password is in the Secret."
  value       = { type = "postgres", uri = "postgres://${local.host}:5432", secret = kubernetes_secret_v1.admin.metadata[0].name }
}

output "provides" {
  description = "What domains can rely on."
  value       = { event_store = true, position_store = true, snapshot_store = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["a default StorageClass"]
}
