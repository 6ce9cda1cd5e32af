# Vault with its storage on volumes: one server, or several with integrated storage, which find each other by retry_join. It starts
# uninitialised: "yuba vault init" gives its keys to offline recipients, and unseals all servers.
locals {
  replicas = try(var.server.replicas, 1)
  raft     = local.replicas > 1
  # The names of single servers. The certificate has the name of the service, which retry_join therefore asks for.
  peers  = "vault-internal"
  labels = merge(var.labels, { "app.kubernetes.io/name" = "vault" })
  config = <<-EOT
    ui            = false
    disable_mlock = true
    api_addr      = "${local.address}"
    listener "tcp" {
      address         = "0.0.0.0:8200"
      tls_cert_file   = "/etc/vault/tls/tls.crt"
      tls_key_file    = "/etc/vault/tls/tls.key"
      tls_min_version = "tls12"
    }
    ${local.raft ? local.raft_storage : "storage \"file\" {\n  path = \"/vault/data\"\n}"}
  EOT
  # VAULT_RAFT_NODE_ID and VAULT_CLUSTER_ADDR say which of the servers it is. All names that there may be are there, whatever the
  # replicas: another configuration would restart, and so seal, each server when some are added.
  raft_storage = join("\n", concat(["storage \"raft\" {", "  path = \"/vault/data\""], [
    for i in range(5) : join("\n", concat([
      "  retry_join {",
      "    leader_api_addr = \"https://vault-${i}.${local.peers}.${local.namespace}.svc:8200\"",
      "    leader_tls_servername = \"vault.${local.namespace}.svc\"",
    ], var.ca == "" ? [] : ["    leader_ca_cert = ${jsonencode(var.ca)}"], ["  }"]))
  ], ["}"]))

  namespace = try(var.server.namespace, "")
  parts = {
    account = {
      apiVersion = "v1"
      kind       = "ServiceAccount"
      metadata   = { name = "vault", namespace = local.namespace, labels = local.labels }
    }
    # Vault asks the cluster who logs in.
    login = {
      apiVersion = "rbac.authorization.k8s.io/v1"
      kind       = "ClusterRoleBinding"
      metadata   = { name = "vault-login-${var.platform}", labels = local.labels }
      roleRef    = { apiGroup = "rbac.authorization.k8s.io", kind = "ClusterRole", name = "system:auth-delegator" }
      subjects   = [{ kind = "ServiceAccount", name = "vault", namespace = local.namespace }]
    }
    config = {
      apiVersion = "v1"
      kind       = "ConfigMap"
      metadata   = { name = "vault", namespace = local.namespace, labels = local.labels }
      data       = { "vault.hcl" = local.config, "reload.sh" = file("${path.module}/files/reload.sh") }
    }
    # A single sealed Vault is not ready, and must be reached to be unsealed. Of several, clients only reach those that serve:
    # servers join each other by vault-internal, and are unsealed by their Pods.
    service = {
      apiVersion = "v1"
      kind       = "Service"
      metadata   = { name = "vault", namespace = local.namespace, labels = local.labels }
      spec = {
        selector                 = { "app.kubernetes.io/name" = "vault" }
        publishNotReadyAddresses = !local.raft
        ports                    = [{ name = "https", port = 8200, targetPort = "https" }]
      }
    }
  }
  several = {
    peers = {
      apiVersion = "v1"
      kind       = "Service"
      metadata   = { name = local.peers, namespace = local.namespace, labels = local.labels }
      spec = {
        clusterIP                = "None"
        selector                 = { "app.kubernetes.io/name" = "vault" }
        publishNotReadyAddresses = true
        ports = [
          { name = "https", port = 8200, targetPort = "https" },
          { name = "cluster", port = 8201, targetPort = "cluster" },
        ]
      }
    }
    # A drain waits for the unsealing of the server that it evicted before.
    budget = {
      apiVersion = "policy/v1"
      kind       = "PodDisruptionBudget"
      metadata   = { name = "vault", namespace = local.namespace, labels = local.labels }
      spec       = { maxUnavailable = 1, selector = { matchLabels = { "app.kubernetes.io/name" = "vault" } } }
    }
  }
  all = merge(local.parts, local.several)
}

resource "kubectl_manifest" "namespace" {
  count = var.server == null ? 0 : 1

  yaml_body         = yamlencode({ apiVersion = "v1", kind = "Namespace", metadata = { name = var.server.namespace, labels = var.labels } })
  server_side_apply = true
  # It has the volume with all secrets: a removal of the component keeps it.
  apply_only = true
}

resource "kubectl_manifest" "part" {
  for_each = var.server == null ? toset([]) : toset(concat(keys(local.parts), local.raft ? keys(local.several) : []))

  yaml_body         = yamlencode(local.all[each.key])
  server_side_apply = true
  depends_on        = [kubectl_manifest.namespace]
}

# The API refuses changes of claim templates: the volume stays as it was made.
resource "terraform_data" "volume" {
  count = var.server == null ? 0 : 1

  input = { storage = var.server.storage, storage_class = var.server.storage_class, raft = local.raft }

  lifecycle {
    ignore_changes = [input]
  }
}

# A server that is not there any more still votes, and counts as failed.
resource "terraform_data" "servers" {
  count = var.server == null ? 0 : 1

  input = local.replicas

  lifecycle {
    ignore_changes = [input]
  }
}

# Nothing waits for the Pod: a sealed Vault is not ready, as after each restart, and nothing here could unseal it.
resource "kubectl_manifest" "server" {
  count = var.server == null ? 0 : 1

  yaml_body = yamlencode({
    apiVersion = "apps/v1"
    kind       = "StatefulSet"
    metadata   = { name = "vault", namespace = var.server.namespace, labels = local.labels }
    spec = {
      replicas    = local.replicas
      serviceName = local.raft ? local.peers : "vault"
      # A sealed server is not ready, and must not keep the others from starting.
      podManagementPolicy = local.raft ? "Parallel" : "OrderedReady"
      selector            = { matchLabels = { "app.kubernetes.io/name" = "vault" } }
      # The volume outlives the server, whatever becomes of the component.
      persistentVolumeClaimRetentionPolicy = { whenDeleted = "Retain", whenScaled = "Retain" }
      template = {
        metadata = { labels = local.labels, annotations = { "yuba.dev/config" = sha256(local.config) } }
        spec = {
          serviceAccountName = "vault"
          # For reload.sh, which sends a signal as the same user.
          shareProcessNamespace = true
          # The loss of a machine is the loss of one server.
          affinity = local.raft ? { podAntiAffinity = { preferredDuringSchedulingIgnoredDuringExecution = [{ weight = 100, podAffinityTerm = {
          topologyKey = "kubernetes.io/hostname", labelSelector = { matchLabels = { "app.kubernetes.io/name" = "vault" } } } }] } } : null
          securityContext = { runAsNonRoot = true, runAsUser = 100, runAsGroup = 1000, fsGroup = 1000, seccompProfile = { type = "RuntimeDefault" } }
          containers = [{
            name            = "vault"
            image           = var.server.image
            imagePullPolicy = var.server.image_pull_policy
            command         = ["vault", "server", "-config=/etc/vault/config/vault.hcl"]
            ports           = concat([{ name = "https", containerPort = 8200 }], local.raft ? [{ name = "cluster", containerPort = 8201 }] : [])
            env = [for e in [
              { name = "VAULT_RAFT_NODE_ID", valueFrom = { fieldRef = { fieldPath = "metadata.name" } } },
              { name = "VAULT_CLUSTER_ADDR", value = "https://$(VAULT_RAFT_NODE_ID).${local.peers}.${local.namespace}.svc:8201" },
            ] : e if local.raft]
            readinessProbe = {
              httpGet       = { path = "/v1/sys/health?standbyok=true&uninitcode=204", port = "https", scheme = "HTTPS" }
              periodSeconds = 3
            }
            resources       = { requests = { cpu = "50m", memory = "128Mi" }, limits = { memory = "512Mi" } }
            securityContext = { allowPrivilegeEscalation = false, readOnlyRootFilesystem = true, capabilities = { drop = ["ALL"] } }
            volumeMounts = [
              { name = "data", mountPath = "/vault/data" },
              { name = "config", mountPath = "/etc/vault/config", readOnly = true },
              { name = "tls", mountPath = "/etc/vault/tls", readOnly = true },
              { name = "tmp", mountPath = "/tmp" },
            ]
            }, {
            name            = "vault-reload"
            image           = var.server.image
            imagePullPolicy = var.server.image_pull_policy
            command         = ["sh", "/etc/vault/config/reload.sh", "/etc/vault/tls", "/proc", "10"]
            resources       = { requests = { cpu = "5m", memory = "8Mi" }, limits = { memory = "32Mi" } }
            securityContext = { allowPrivilegeEscalation = false, readOnlyRootFilesystem = true, capabilities = { drop = ["ALL"] } }
            volumeMounts = [
              { name = "config", mountPath = "/etc/vault/config", readOnly = true },
              { name = "tls", mountPath = "/etc/vault/tls", readOnly = true },
            ]
          }]
          volumes = [
            { name = "config", configMap = { name = "vault" } },
            { name = "tls", secret = { secretName = var.server.tls_secret } },
            { name = "tmp", emptyDir = {} },
          ]
        }
      }
      volumeClaimTemplates = [{
        metadata = { name = "data" }
        spec = merge({
          accessModes = ["ReadWriteOnce"]
          resources   = { requests = { storage = terraform_data.volume[0].input.storage } }
        }, terraform_data.volume[0].input.storage_class == null ? {} : { storageClassName = terraform_data.volume[0].input.storage_class })
      }]
    }
  })
  server_side_apply = true
  wait_for_rollout  = false

  lifecycle {
    precondition {
      condition     = try(terraform_data.volume[0].output.raft, false) == local.raft
      error_message = "The volumes of this Vault have the storage of ${local.raft ? "one server" : "several servers"}, which Vault does not convert by itself: with another one, all secrets would be out of reach. Keep server.replicas, or migrate with \"vault operator migrate\" to a new Vault."
    }
    precondition {
      condition     = !local.raft || local.replicas >= try(terraform_data.servers[0].output, 0)
      error_message = "This Vault was made with ${try(terraform_data.servers[0].output, 0)} servers. Those that are removed would still vote: of ${local.replicas} that are left, none could fail. Keep server.replicas. To have fewer servers nevertheless, run \"yuba vault members remove\" for those with the highest numbers, and then remove terraform_data.servers from the state."
    }
  }

  depends_on = [kubectl_manifest.part]
}
