# The store of the External Secrets Operator. Vault itself is initialised by "yuba bootstrap vault": its keys must not be in
# a state.
resource "kubectl_manifest" "store" {
  yaml_body = yamlencode({
    apiVersion = "external-secrets.io/v1"
    kind       = "ClusterSecretStore"
    metadata   = { name = var.platform }
    spec = { provider = { vault = merge({
      server  = var.address
      path    = var.mount
      version = "v2"
      auth = { kubernetes = {
        mountPath         = var.auth_path
        role              = var.role
        serviceAccountRef = { name = "external-secrets", namespace = "external-secrets" }
      } }
    }, var.ca == "" ? {} : { caBundle = base64encode(var.ca) }) } }
  })
}
