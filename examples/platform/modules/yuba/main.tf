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
  apply_only        = contains(local.kept, each.key)

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
      condition     = length(local.unread) == 0
      error_message = "A document of manifests/ is not one YAML object with kind and metadata.name, so that it would not be installed. It begins with: ${substr(trimspace(join("", local.unread)), 0, 120)}"
    }
    precondition {
      condition     = length(local.kinds) > 0 && anytrue([for key in keys(local.rest) : startswith(key, "Deployment/")])
      error_message = "manifests/ of the module yuba lacks the kinds or the rendered chart. Its README has both commands."
    }
  }
}
