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

variable "cidr" {
  type        = string
  default     = "10.20.0.0/16"
  description = "IPv4 range of the private network."

  validation {
    condition     = can(cidrhost(var.cidr, 0)) && try(tonumber(split("/", var.cidr)[1]) >= 16 && tonumber(split("/", var.cidr)[1]) <= 24, false)
    error_message = "cidr is a range of IPv4 of /16 to /24, such as 10.20.0.0/16."
  }
}

variable "zones" {
  type        = list(string)
  default     = []
  description = "Availability zones; empty: the provider's choice."
}

variable "api_allowed_cidrs" {
  type        = list(string)
  default     = ["0.0.0.0/0"]
  description = "Who reaches the Kubernetes API on port 6443."
}

variable "ssh_allowed_cidrs" {
  type        = list(string)
  default     = []
  description = "Who reaches SSH; empty: nobody."
}

variable "compartment_id" {
  type        = string
  description = "OCID of the compartment."
}
