output "yuba" {
  description = "The namespace of Yuba."
  value       = { namespace = var.namespace }
  depends_on  = [kubectl_manifest.object]
}
