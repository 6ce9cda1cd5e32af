mock_provider "kubectl" {}

variables {
  platform = "acme"
  # A kubeconfig that nobody can use.
  kubeconfig = <<-EOT
    clusters: [{cluster: {server: "https://127.0.0.1:1", certificate-authority-data: ""}}]
    users: [{user: {token: ""}}]
  EOT
  # As "flux install --export" begins.
  manifests = [
    "{apiVersion: v1, kind: Namespace, metadata: {name: flux-system}}",
    "{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: buckets.example.org}}",
    "{apiVersion: v1, kind: ServiceAccount, metadata: {name: source-controller, namespace: flux-system}}",
  ]
}

# States of earlier versions of this module have the namespace of the manifests at this address. Without it, an
# upgrade would destroy the namespace.
run "the_namespace_stays" {
  assert {
    condition     = kubectl_manifest.first["000"].apply_only && !kubectl_manifest.first["001"].apply_only
    error_message = "The namespace of the manifests is at its address, and is never deleted."
  }
}

run "the_list_shrinks" {
  variables {
    manifests = []
  }
  assert {
    condition     = length(kubectl_manifest.first) == 0
    error_message = "The manifests are gone."
  }
}
