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
  uri  = "amqp://${local.user}:${random_password.admin.result}@${local.host}:5672"
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
          image = "rabbitmq:4"

          env {
            name  = "RABBITMQ_DEFAULT_USER"
            value = local.user
          }

          env {
            name = "RABBITMQ_DEFAULT_PASS"
            value_from {
              secret_key_ref {
                name = kubernetes_secret_v1.admin.metadata[0].name
                key  = "password"
              }
            }
          }

          port {
            container_port = 5672
          }

          volume_mount {
            name       = "data"
            mount_path = "/var/lib/rabbitmq"
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
      port = 5672
    }
  }
}

output "bus" {
  description = "The bus, for domains. The password is in the Secret."
  value       = { type = "amqp", uri = "amqp://${local.host}:5672" }
}

output "provides" {
  description = "What domains can rely on."
  value       = { ordered = true, durable = true }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = ["a default StorageClass"]
}
