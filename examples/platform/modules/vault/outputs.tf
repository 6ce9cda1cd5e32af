output "vault" {
  description = "The store's name."
  value       = { address = var.address, store = var.platform }
  depends_on  = [kubectl_manifest.store]
}
