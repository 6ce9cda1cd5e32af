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
