output "gitops" {
  description = "The namespace and the name of the source."
  value       = { namespace = var.namespace, source = var.source_repository == null ? "" : var.platform }
  depends_on  = [kubectl_manifest.kustomization]
}
