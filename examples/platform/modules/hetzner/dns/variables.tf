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

variable "domain" {
  type        = string
  description = "The platform's domain."

  validation {
    condition     = can(regex("^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\\.)+[a-z]{2,63}$", var.domain))
    error_message = "domain is a domain name in lower case, without a dot at its end."
  }
}

variable "zone" {
  type        = string
  description = "Name or id of the zone."
}

variable "addresses" {
  type        = list(string)
  description = "IPv4 addresses of the platform."

  validation {
    condition     = length(var.addresses) > 0 && alltrue([for a in var.addresses : can(cidrhost("${a}/32", 0))])
    error_message = "addresses has at least one address, and only those of IPv4."
  }
}

variable "names" {
  type        = list(string)
  default     = ["@", "*", "console", "api", "gitea", "harbor"]
  description = "Names below the domain; @ is the domain itself."
}

variable "ttl" {
  type    = number
  default = 300
}

variable "zone_name" {
  type        = string
  description = "Name of the zone, which is the domain or its parent."

  validation {
    condition     = var.domain == var.zone_name || endswith(var.domain, ".${var.zone_name}")
    error_message = "The domain is not in the zone zone_name."
  }
}
