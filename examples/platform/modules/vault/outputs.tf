output "vault" {
  description = "The address of Vault, and the name of the store."
  value       = { address = local.address, store = var.store ? var.platform : "" }
  depends_on  = [kubectl_manifest.store, kubectl_manifest.server]
}
