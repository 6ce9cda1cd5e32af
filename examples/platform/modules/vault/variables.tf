variable "platform" {
  type = string
}

variable "region" {
  type    = string
  default = ""
}

variable "labels" {
  type    = map(string)
  default = {}
}

variable "kubeconfig" {
  type        = string
  sensitive   = true
  description = "Kubeconfig of the cluster: key value of the Secret that the call home fills."
}

variable "server" {
  type = object({
    tls_secret        = string
    namespace         = optional(string, "vault")
    image             = optional(string, "docker.io/hashicorp/vault:1.21.4")
    image_pull_policy = optional(string, "IfNotPresent")
    storage           = optional(string, "10Gi")
    storage_class     = optional(string)
    replicas          = optional(number, 1)
  })
  default     = null
  description = "A Vault to install: tls_secret is the Secret of its namespace with its certificate, for vault.NAMESPACE.svc; both exist before. replicas is 1, or 3 or 5 for integrated storage (raft), and cannot change between both kinds. It can grow from 3 to 5; before it shrinks again, remove the servers that go with \"yuba vault members remove\". null: Vault exists at address."

  validation {
    condition     = var.server == null ? true : contains([1, 3, 5], var.server.replicas)
    error_message = "server.replicas is 1, 3 or 5: of an even number, no more servers may fail than of one less."
  }
}

variable "address" {
  type        = string
  default     = ""
  description = "URL of Vault, as seen from the cluster; not with server."
}

variable "store" {
  type        = bool
  default     = true
  description = "Whether to make the ClusterSecretStore; the kinds of the External Secrets Operator must be there."
}

variable "ca" {
  type        = string
  default     = ""
  description = "Its certificate authority in PEM."
}

variable "auth_path" {
  type    = string
  default = "kubernetes"
}

variable "role" {
  type    = string
  default = "external-secrets"
}

variable "mount" {
  type    = string
  default = "secret"
}
