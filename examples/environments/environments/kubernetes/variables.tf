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
  description = "The kubeconfig; null for the cluster that tofu runs in."
  default     = "~/.kube/config"
}

variable "context" {
  type        = string
  description = "The context of the kubeconfig; null for its current one."
  default     = null
}
