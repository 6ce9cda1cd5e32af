resource "kubectl_manifest" "namespace" {
  yaml_body = yamlencode({
    apiVersion = "v1"
    kind       = "Namespace"
    metadata   = { name = "yuba-system", labels = var.labels }
  })
}

# A Pod on each node proves more than a condition does: the node has joined, has a network and runs images. The anti-affinity
# puts each Pod on another node, so the rollout ends when all nodes have one.
resource "kubectl_manifest" "proof" {
  count = var.machines.cni == "external" ? 0 : 1

  yaml_body = yamlencode({
    apiVersion = "apps/v1"
    kind       = "Deployment"
    metadata   = { name = "node-proof", namespace = "yuba-system" }
    spec = {
      replicas                = length(var.machines.nodes)
      progressDeadlineSeconds = 600
      selector                = { matchLabels = { app = "node-proof" } }
      strategy                = { type = "Recreate" }
      template = {
        metadata = { labels = { app = "node-proof" } }
        spec = {
          automountServiceAccountToken  = false
          terminationGracePeriodSeconds = 0
          tolerations                   = [{ operator = "Exists", effect = "NoSchedule" }]
          affinity = { podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution = [
            { topologyKey = "kubernetes.io/hostname", labelSelector = { matchLabels = { app = "node-proof" } } },
          ] } }
          containers = [{
            name            = "pause"
            image           = var.image
            resources       = { requests = { cpu = "1m", memory = "4Mi" }, limits = { memory = "16Mi" } }
            securityContext = { allowPrivilegeEscalation = false, readOnlyRootFilesystem = true, runAsNonRoot = true, runAsUser = 65534, capabilities = { drop = ["ALL"] } }
          }]
        }
      }
    }
  })
  wait_for_rollout = true

  timeouts {
    create = var.timeout
  }

  depends_on = [kubectl_manifest.namespace]
}
