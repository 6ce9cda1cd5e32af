variable "images" {
  type        = map(string)
  description = "The images, by domain."
}

variable "namespace" {
  type        = string
  description = "The namespace of all objects."
}

variable "kubeconfig" {
  type        = string
  description = "The kubeconfig, such as ~/.kube/config; null for that of KUBE_CONFIG_PATH, or the cluster that tofu runs in."
  default     = null
}

variable "context" {
  type        = string
  description = "The context of the kubeconfig; null for its current one."
  default     = null
}
