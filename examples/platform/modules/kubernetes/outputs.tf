output "kubernetes" {
  description = "The cluster."
  value = {
    endpoint = nonsensitive(local.cluster.server)
    nodes    = [for n in var.machines.nodes : n.name]
  }
  depends_on = [kubectl_manifest.proof]
}
