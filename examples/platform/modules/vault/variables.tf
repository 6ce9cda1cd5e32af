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

variable "address" {
  type        = string
  description = "URL of Vault, as seen from the cluster."
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
