locals {
  # Rendered from the chart, see the README. A file has documents that lines with "---" separate.
  texts = flatten([for f in sort(tolist(fileset(path.module, "manifests/*.yaml"))) : split("\n---\n", "\n${file("${path.module}/${f}")}\n")])
  # Comments are not objects.
  objects = { for text in local.texts : join("/", compact([
    yamldecode(text).kind, try(yamldecode(text).metadata.namespace, ""), yamldecode(text).metadata.name,
  ])) => text if can(yamldecode(text).metadata.name) }
  kinds = { for key, text in local.objects : key => text if startswith(key, "CustomResourceDefinition/") }
  rest  = { for key, text in local.objects : key => text if !startswith(key, "CustomResourceDefinition/") && key != "Namespace/${var.namespace}" }
}

resource "kubectl_manifest" "namespace" {
  yaml_body = yamlencode({ apiVersion = "v1", kind = "Namespace", metadata = { name = var.namespace, labels = var.labels } })

  # The phase kubernetes may have made it. Its deletion would delete Yuba's keys.
  apply_only        = true
  server_side_apply = true
  force_conflicts   = true
}

# All stacks, with their states, are objects of these kinds: a removal of the component must not delete them.
resource "kubectl_manifest" "kind" {
  for_each = local.kinds

  yaml_body         = each.value
  server_side_apply = true
  apply_only        = true
}

# The rollout ends when Yuba serves.
resource "kubectl_manifest" "object" {
  for_each = local.rest

  yaml_body         = each.value
  server_side_apply = true
  wait_for_rollout  = true

  timeouts {
    create = "10m"
  }

  depends_on = [kubectl_manifest.namespace, kubectl_manifest.kind]
}

# Without manifests, nothing would be installed, and the phase would be ready.
resource "terraform_data" "manifests" {
  input = length(local.objects)

  lifecycle {
    precondition {
      condition     = length(local.kinds) > 0 && anytrue([for key in keys(local.rest) : startswith(key, "Deployment/")])
      error_message = "manifests/ of the module yuba lacks the kinds or the rendered chart. Its README has both commands."
    }
  }
}
