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
  })
  default     = null
  description = "A Vault to install: tls_secret is the Secret of its namespace with its certificate, for vault.NAMESPACE.svc; both exist before. null: Vault exists at address."
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
