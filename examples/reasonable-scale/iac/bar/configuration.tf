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

  selected = module.configuration.selected
}

module "configuration" {
  source  = "registry.example.com/acme/configuration/aws"
  version = "~> 0.1"

  configuration    = local.configuration
  clientId         = var.clientId
  environment      = var.environment
  environmentClass = var.environmentClass
}
