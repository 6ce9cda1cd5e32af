variable "platform" {
  type        = string
  description = "Prefix of the machines' names."
}

variable "region" {
  type = string
}

variable "subnets" {
  type        = list(object({ id = string, zone = string, cidr = string }))
  description = "Subnets of the network. Machines are spread over them."
}

variable "control_planes" {
  type = number
}

variable "workers" {
  type = number
}

variable "domain" {
  type    = string
  default = ""
}

variable "api_address" {
  type        = string
  description = "Address of the API for everybody outside the network."
}

variable "join_address" {
  type        = string
  default     = null
  description = "Address at which machines join, if it is not the first machine's."
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

  validation {
    condition     = contains(["flannel", "external"], var.kubernetes.cni)
    error_message = "kubernetes.cni is flannel, or external if the gitops phase installs a network such as Cilium."
  }
  validation {
    condition     = can(regex("^v[0-9]+\\.[0-9]+\\.[0-9]+(-[a-z0-9.]+)?\\+k3s[0-9]+$", var.kubernetes.version))
    error_message = "kubernetes.version is a release of k3s, such as v1.34.2+k3s1."
  }
  validation {
    condition     = alltrue([for d in var.kubernetes.disable : contains(["coredns", "servicelb", "traefik", "local-storage", "metrics-server", "runtimes"], d)])
    error_message = "kubernetes.disable may name coredns, servicelb, traefik, local-storage, metrics-server and runtimes. For flannel, set cni to external."
  }
  validation {
    condition     = alltrue([for arch, sum in var.kubernetes.sha256 : contains(["amd64", "arm64"], arch) && can(regex("^[0-9a-f]{64}$", sum))])
    error_message = "kubernetes.sha256 has 64 hexadecimal digits for amd64, arm64 or both."
  }
  validation {
    condition     = alltrue([for arch, sum in var.kubernetes.airgap_sha256 : contains(["amd64", "arm64"], arch) && can(regex("^[0-9a-f]{64}$", sum))])
    error_message = "kubernetes.airgap_sha256 has 64 hexadecimal digits for amd64, arm64 or both."
  }
  validation {
    condition     = var.kubernetes.binary_url == null || var.kubernetes.binary_url == "" || can(regex("^https://[^'\\s]+[^'\\s/]$", var.kubernetes.binary_url))
    error_message = "kubernetes.binary_url is the https URL of the directory of a release, without a slash at its end, or \"\" if the image has k3s."
  }
  validation {
    condition     = var.kubernetes.node_monitor_grace_period >= 2 * var.kubernetes.node_monitor_period
    error_message = "kubernetes.node_monitor_grace_period is at least twice node_monitor_period, or healthy nodes are lost."
  }
  validation {
    condition     = var.kubernetes.etcd_quota_bytes >= 268435456 && var.kubernetes.etcd_quota_bytes <= 8589934592
    error_message = "kubernetes.etcd_quota_bytes is a number of bytes between 256 MiB and 8 GiB: etcd does not read units."
  }
  validation {
    condition     = var.kubernetes.max_pods >= 10 && var.kubernetes.max_pods <= 250
    error_message = "kubernetes.max_pods is between 10 and 250: k3s gives each node 254 addresses."
  }
  validation {
    condition     = can(cidrhost(var.kubernetes.pod_cidr, 0)) && can(cidrhost(var.kubernetes.service_cidr, 0))
    error_message = "kubernetes.pod_cidr and service_cidr are ranges such as 10.42.0.0/16."
  }
}

variable "ssh_authorized_keys" {
  type    = list(string)
  default = []
}

variable "join_token" {
  type      = string
  sensitive = true

  validation {
    condition     = can(regex("^[A-Za-z0-9._-]{32,256}$", var.join_token))
    error_message = "join_token has 32 to 256 letters, digits, dots, underscores and hyphens."
  }
}

variable "call_home" {
  type    = object({ url = string, ca = string })
  default = null

  validation {
    condition     = var.call_home == null || try(can(regex("^https://[^'\\s\"$`]+$", var.call_home.url)) && strcontains(var.call_home.ca, "BEGIN CERTIFICATE"), false)
    error_message = "call_home has the https URL of the ticket, and the certificate authority in PEM."
  }
}

variable "call_home_token" {
  type      = string
  default   = ""
  sensitive = true

  validation {
    condition     = can(regex("^[A-Za-z0-9_-]*$", var.call_home_token))
    error_message = "call_home_token is what Yuba made: letters, digits, underscores and hyphens."
  }
}

variable "air_gap" {
  type        = bool
  default     = false
  description = "Whether machines reach no Internet."
}
