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

variable "machines" {
  type = object({
    api_endpoint = string
    addresses    = list(string)
    cni          = string
    nodes        = list(object({ name = string, role = string, id = string, private_address = string, public_address = string }))
  })
  description = "Output of the phase machines."
}

variable "image" {
  type        = string
  default     = "registry.k8s.io/pause:3.10"
  description = "Image of the Pods that prove each node; it needs no command."
}

variable "timeout" {
  type        = string
  default     = "10m"
  description = "How long the nodes may take."
}
