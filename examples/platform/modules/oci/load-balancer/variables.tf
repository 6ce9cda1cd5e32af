variable "name" {
  type = string
}

variable "region" {
  type = string
}

variable "labels" {
  type    = map(string)
  default = {}
}

variable "network" {
  type = object({
    id          = string
    cidr        = string
    firewall_id = string
    subnets     = list(object({ id = string, zone = string, cidr = string }))
  })
}

variable "compartment_id" {
  type        = string
  description = "OCID of the compartment."
}

variable "backends" {
  type        = map(string)
  description = "Private addresses of the control planes, by name."
}
