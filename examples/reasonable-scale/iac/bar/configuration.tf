# Everything that differs between environments is in this file.
variable "clientId" {
  type = string
}

variable "environment" {
  type = string
}

variable "environmentClass" {
  type = string
}

locals {
  service = "bar"

  configuration = {
    default = {
      retention = "1d"
    }
    environment_classes = {
      prod = {
        retention = "30d"
      }
    }
  }

  selected = merge(
    local.configuration.default,
    try(local.configuration.environment_classes[var.environmentClass], {}),
    try(local.configuration[var.clientId][var.environment], {}),
  )
}
