# One Vault with its storage on a volume. It starts uninitialised: "yuba vault init" gives its keys to offline recipients.
locals {
  labels = merge(var.labels, { "app.kubernetes.io/name" = "vault" })
  config = <<-EOT
    ui            = false
    disable_mlock = true
    api_addr      = "${local.address}"
    listener "tcp" {
      address         = "0.0.0.0:8200"
      tls_cert_file   = "/etc/vault/tls/tls.crt"
      tls_key_file    = "/etc/vault/tls/tls.key"
      tls_min_version = "tls12"
    }
    storage "file" {
      path = "/vault/data"
    }
  EOT

  namespace = try(var.server.namespace, "")
  parts = {
    account = {
      apiVersion = "v1"
      kind       = "ServiceAccount"
      metadata   = { name = "vault", namespace = local.namespace, labels = local.labels }
    }
    # Vault asks the cluster who logs in.
    login = {
      apiVersion = "rbac.authorization.k8s.io/v1"
      kind       = "ClusterRoleBinding"
      metadata   = { name = "vault-login-${var.platform}", labels = local.labels }
      roleRef    = { apiGroup = "rbac.authorization.k8s.io", kind = "ClusterRole", name = "system:auth-delegator" }
      subjects   = [{ kind = "ServiceAccount", name = "vault", namespace = local.namespace }]
    }
    config = {
      apiVersion = "v1"
      kind       = "ConfigMap"
      metadata   = { name = "vault", namespace = local.namespace, labels = local.labels }
      data       = { "vault.hcl" = local.config, "reload.sh" = file("${path.module}/files/reload.sh") }
    }
    # A sealed Vault is not ready, and must be reached to be unsealed.
    service = {
      apiVersion = "v1"
      kind       = "Service"
      metadata   = { name = "vault", namespace = local.namespace, labels = local.labels }
      spec = {
        selector                 = { "app.kubernetes.io/name" = "vault" }
        publishNotReadyAddresses = true
        ports                    = [{ name = "https", port = 8200, targetPort = "https" }]
      }
    }
  }
}

resource "kubectl_manifest" "namespace" {
  count = var.server == null ? 0 : 1

  yaml_body         = yamlencode({ apiVersion = "v1", kind = "Namespace", metadata = { name = var.server.namespace, labels = var.labels } })
  server_side_apply = true
  # It has the volume with all secrets: a removal of the component keeps it.
  apply_only = true
}

resource "kubectl_manifest" "part" {
  for_each = var.server == null ? toset([]) : toset(keys(local.parts))

  yaml_body         = yamlencode(local.parts[each.key])
  server_side_apply = true
  depends_on        = [kubectl_manifest.namespace]
}

# The API refuses changes of claim templates: the volume stays as it was made.
resource "terraform_data" "volume" {
  count = var.server == null ? 0 : 1

  input = { storage = var.server.storage, storage_class = var.server.storage_class }

  lifecycle {
    ignore_changes = [input]
  }
}

# Nothing waits for the Pod: a sealed Vault is not ready, as after each restart, and nothing here could unseal it.
resource "kubectl_manifest" "server" {
  count = var.server == null ? 0 : 1

  yaml_body = yamlencode({
    apiVersion = "apps/v1"
    kind       = "StatefulSet"
    metadata   = { name = "vault", namespace = var.server.namespace, labels = local.labels }
    spec = {
      replicas    = 1
      serviceName = "vault"
      selector    = { matchLabels = { "app.kubernetes.io/name" = "vault" } }
      # The volume outlives the server, whatever becomes of the component.
      persistentVolumeClaimRetentionPolicy = { whenDeleted = "Retain", whenScaled = "Retain" }
      template = {
        metadata = { labels = local.labels, annotations = { "yuba.dev/config" = sha256(local.config) } }
        spec = {
          serviceAccountName = "vault"
          # For reload.sh, which sends a signal as the same user.
          shareProcessNamespace = true
          securityContext       = { runAsNonRoot = true, runAsUser = 100, runAsGroup = 1000, fsGroup = 1000, seccompProfile = { type = "RuntimeDefault" } }
          containers = [{
            name            = "vault"
            image           = var.server.image
            imagePullPolicy = var.server.image_pull_policy
            command         = ["vault", "server", "-config=/etc/vault/config/vault.hcl"]
            ports           = [{ name = "https", containerPort = 8200 }]
            readinessProbe = {
              httpGet       = { path = "/v1/sys/health?standbyok=true&uninitcode=204", port = "https", scheme = "HTTPS" }
              periodSeconds = 3
            }
            resources       = { requests = { cpu = "50m", memory = "128Mi" }, limits = { memory = "512Mi" } }
            securityContext = { allowPrivilegeEscalation = false, readOnlyRootFilesystem = true, capabilities = { drop = ["ALL"] } }
            volumeMounts = [
              { name = "data", mountPath = "/vault/data" },
              { name = "config", mountPath = "/etc/vault/config", readOnly = true },
              { name = "tls", mountPath = "/etc/vault/tls", readOnly = true },
              { name = "tmp", mountPath = "/tmp" },
            ]
            }, {
            name            = "vault-reload"
            image           = var.server.image
            imagePullPolicy = var.server.image_pull_policy
            command         = ["sh", "/etc/vault/config/reload.sh", "/etc/vault/tls", "/proc", "10"]
            resources       = { requests = { cpu = "5m", memory = "8Mi" }, limits = { memory = "32Mi" } }
            securityContext = { allowPrivilegeEscalation = false, readOnlyRootFilesystem = true, capabilities = { drop = ["ALL"] } }
            volumeMounts = [
              { name = "config", mountPath = "/etc/vault/config", readOnly = true },
              { name = "tls", mountPath = "/etc/vault/tls", readOnly = true },
            ]
          }]
          volumes = [
            { name = "config", configMap = { name = "vault" } },
            { name = "tls", secret = { secretName = var.server.tls_secret } },
            { name = "tmp", emptyDir = {} },
          ]
        }
      }
      volumeClaimTemplates = [{
        metadata = { name = "data" }
        spec = merge({
          accessModes = ["ReadWriteOnce"]
          resources   = { requests = { storage = terraform_data.volume[0].input.storage } }
        }, terraform_data.volume[0].input.storage_class == null ? {} : { storageClassName = terraform_data.volume[0].input.storage_class })
      }]
    }
  })
  server_side_apply = true
  wait_for_rollout  = false

  depends_on = [kubectl_manifest.part]
}
