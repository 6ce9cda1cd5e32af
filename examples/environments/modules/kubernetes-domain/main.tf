variable "namespace" {
  type        = string
  description = "The namespace of all objects."
}

variable "service_account_annotations" {
  type        = map(string)
  description = "Annotations of the service account: iam.gke.io/gcp-service-account on GKE, eks.amazonaws.com/role-arn on EKS."
  default     = {}
}

locals {
  urls = { for name in keys(local.components) : name => "http://${var.domain}-${name}.${var.namespace}.svc:8080" }
}

resource "kubernetes_service_account_v1" "domain" {
  metadata {
    name        = var.domain
    namespace   = var.namespace
    annotations = var.service_account_annotations
  }
}

resource "kubernetes_deployment_v1" "component" {
  for_each = local.components

  metadata {
    name      = "${var.domain}-${each.key}"
    namespace = var.namespace
    labels    = { "app.kubernetes.io/name" = each.key, "app.kubernetes.io/part-of" = var.domain }
  }

  spec {
    replicas = each.value.max_instances

    selector {
      match_labels = { "app.kubernetes.io/name" = each.key, "app.kubernetes.io/part-of" = var.domain }
    }

    template {
      metadata {
        labels = { "app.kubernetes.io/name" = each.key, "app.kubernetes.io/part-of" = var.domain }
      }

      spec {
        service_account_name = kubernetes_service_account_v1.domain.metadata[0].name

        container {
          name  = "main"
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
              value_from {
                secret_key_ref {
                  name = env.value
                  key  = "uri"
                }
              }
            }
          }

          port {
            container_port = 8080
          }
        }
      }
    }
  }
}

resource "kubernetes_service_v1" "component" {
  for_each = local.components

  metadata {
    name      = "${var.domain}-${each.key}"
    namespace = var.namespace
  }

  spec {
    selector = { "app.kubernetes.io/name" = each.key, "app.kubernetes.io/part-of" = var.domain }

    port {
      port        = 8080
      target_port = "8080"
    }
  }
}
