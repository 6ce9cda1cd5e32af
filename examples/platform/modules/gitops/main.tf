locals {
  documents = { for i, d in var.manifests : format("%03d", i) => d }
  # Kinds must be served, and namespaces exist, before objects of them.
  first = { for k, d in local.documents : k => d if contains(["Namespace", "CustomResourceDefinition"], yamldecode(d).kind) }
  rest  = { for k, d in local.documents : k => d if !contains(keys(local.first), k) }

  # "flux install --export" has the namespace, too. Both have the same text, or each would remove the labels of the other.
  own = [for k, d in local.first : k if yamldecode(d).kind == "Namespace" && yamldecode(d).metadata.name == var.namespace]
  metadata = merge(concat([for k in local.own : yamldecode(local.first[k]).metadata], [{ name = var.namespace,
  labels = merge(concat([for k in local.own : try(yamldecode(local.first[k]).metadata.labels, {})], [var.labels])...) }])...)
  namespace = yamlencode({ apiVersion = "v1", kind = "Namespace", metadata = local.metadata })
}

resource "kubectl_manifest" "namespace" {
  yaml_body = local.namespace
}

resource "kubectl_manifest" "first" {
  for_each = local.first

  yaml_body         = contains(local.own, each.key) ? local.namespace : each.value
  server_side_apply = true
  # A document that is gone must not delete a namespace with all that Flux applied.
  apply_only = yamldecode(each.value).kind == "Namespace"
  depends_on = [kubectl_manifest.namespace]
}

resource "kubectl_manifest" "controller" {
  for_each = local.rest

  yaml_body         = each.value
  server_side_apply = true
  # The phase is ready when the controllers run.
  wait_for_rollout = true

  timeouts {
    create = "5m"
  }

  depends_on = [kubectl_manifest.first]
}

resource "kubectl_manifest" "source" {
  count = var.source_repository == null ? 0 : 1

  yaml_body = yamlencode({
    apiVersion = "source.toolkit.fluxcd.io/v1"
    kind       = "GitRepository"
    metadata   = { name = var.platform, namespace = var.namespace }
    spec       = { interval = "1m", url = var.source_repository.url, ref = { branch = var.source_repository.branch } }
  })
  depends_on = [kubectl_manifest.controller]
}

resource "kubectl_manifest" "kustomization" {
  count = var.source_repository == null ? 0 : 1

  yaml_body = yamlencode({
    apiVersion = "kustomize.toolkit.fluxcd.io/v1"
    kind       = "Kustomization"
    metadata   = { name = var.platform, namespace = var.namespace }
    spec = {
      interval  = "10m"
      path      = var.source_repository.path
      prune     = true
      sourceRef = { kind = "GitRepository", name = var.platform }
    }
  })
  depends_on = [kubectl_manifest.source]
}
