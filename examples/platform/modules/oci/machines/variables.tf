variable "platform" {
  type        = string
  description = "Prefix of all names."

  validation {
    condition     = can(regex("^[a-z]([a-z0-9-]{0,36}[a-z0-9])?$", var.platform))
    error_message = "platform is a DNS label of at most 38 characters: lower-case letters, digits and hyphens."
  }
}

variable "region" {
  type        = string
  description = "Region identifier, such as eu-frankfurt-1."
}

variable "labels" {
  type        = map(string)
  default     = {}
  description = "Labels or tags of everything that is made."
}

variable "network" {
  type = object({
    id          = string
    cidr        = string
    firewall_id = string
    subnets     = list(object({ id = string, zone = string, cidr = string }))
  })
  description = "Output of the phase network."
}

variable "control_planes" {
  type        = number
  default     = 1
  description = "How many machines have a control plane."

  validation {
    condition     = contains([1, 3, 5], var.control_planes)
    error_message = "control_planes is 1, 3 or 5: etcd needs a majority."
  }
}

variable "workers" {
  type        = number
  default     = 0
  description = "How many machines have none."

  validation {
    condition     = var.workers >= 0 && var.workers <= 100 && floor(var.workers) == var.workers
    error_message = "workers is a whole number from 0 to 100."
  }
}

variable "size" {
  type        = string
  default     = "VM.Standard.E5.Flex"
  description = "Type of machines with a control plane."
}

variable "worker_size" {
  type        = string
  default     = null
  description = "Type of the other machines; size if null."
}

variable "image" {
  type        = string
  description = "OCID of the image; it has cloud-init."
}

variable "ssh_authorized_keys" {
  type        = list(string)
  default     = []
  description = "Public keys for the default user."
}

variable "load_balancer" {
  type        = bool
  default     = null
  description = "Whether a load balancer stands before the API; null: if there are several control planes."
}

variable "domain" {
  type        = string
  default     = ""
  description = "The platform's domain; the API's certificate has api.DOMAIN."
}

variable "generation" {
  type        = number
  default     = 1
  description = "A higher number replaces all machines, and the cluster with them."
}

variable "kubernetes" {
  type = object({
    version                   = optional(string, "v1.34.2+k3s1")
    sha256                    = optional(map(string), {})
    binary_url                = optional(string)
    airgap_images             = optional(bool)
    airgap_sha256             = optional(map(string), {})
    cni                       = optional(string, "flannel")
    pod_cidr                  = optional(string, "10.42.0.0/16")
    service_cidr              = optional(string, "10.43.0.0/16")
    disable                   = optional(list(string), ["traefik", "servicelb", "local-storage"])
    max_pods                  = optional(number, 50)
    tls_sans                  = optional(list(string), [])
    node_labels               = optional(map(string), {})
    node_monitor_period       = optional(number, 5)
    node_monitor_grace_period = optional(number, 20)
    watch_cache_size          = optional(number, 50)
    etcd_quota_bytes          = optional(number, 1073741824)
  })
  default = {}
}

variable "join_token" {
  type        = string
  sensitive   = true
  description = "Secret that nodes join with, at least 32 characters."
}

variable "call_home" {
  type        = object({ url = string, ca = string })
  default     = null
  description = "Where the first node puts its kubeconfig, and the certificate authority there in PEM."
}

variable "call_home_token" {
  type        = string
  default     = ""
  sensitive   = true
  description = "One-time token for it."
}

variable "compartment_id" {
  type        = string
  description = "OCID of the compartment."
}

variable "air_gap" {
  type        = bool
  default     = false
  description = "Whether machines reach no Internet: what they would download from there fails the plan."
}
