locals {
  address = var.server == null ? var.address : "https://vault.${var.server.namespace}.svc:8200"
}

# The store of the External Secrets Operator. Vault itself is initialised by "yuba vault init": its keys must not be in a state.
resource "kubectl_manifest" "store" {
  count = var.store ? 1 : 0

  yaml_body = yamlencode({
    apiVersion = "external-secrets.io/v1"
    kind       = "ClusterSecretStore"
    metadata   = { name = var.platform }
    spec = { provider = { vault = merge({
      server  = local.address
      path    = var.mount
      version = "v2"
      auth = { kubernetes = {
        mountPath         = var.auth_path
        role              = var.role
        serviceAccountRef = { name = "external-secrets", namespace = "external-secrets" }
      } }
    }, var.ca == "" ? {} : { caBundle = base64encode(var.ca) }) } }
  })
  depends_on = [kubectl_manifest.server]

  lifecycle {
    precondition {
      condition     = local.address != ""
      error_message = "Name the Vault that exists with address, or install one with server."
    }
  }
}
