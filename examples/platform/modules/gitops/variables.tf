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

variable "manifests" {
  type        = list(string)
  default     = []
  description = "YAML documents that install the controllers and their CRDs, in their order; one object each."
}

variable "source_repository" {
  type = object({
    url    = string
    branch = optional(string, "main")
    path   = optional(string, "./")
  })
  default     = null
  description = "Git repository that the platform follows."
}

variable "namespace" {
  type        = string
  default     = "flux-system"
  description = "Namespace of the source."
}
