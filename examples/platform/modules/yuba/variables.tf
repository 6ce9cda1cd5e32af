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

variable "namespace" {
  type        = string
  default     = "yuba-system"
  description = "Namespace of the release, as the manifests have it."
}
