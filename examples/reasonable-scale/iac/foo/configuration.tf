# All differences between environments are in this file, which is part of the artifact: the code selects its configuration
# by its environment. More specific values win.
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
  service = "foo"

  configuration = {
    default = {
      namespace = local.service
      database  = "db.t4g.medium"
      replicas  = 1
    }
    environment_classes = {
      non-prod = {}
      prod = {
        database = "db.r6g.medium"
        replicas = 3
      }
    }
    tenant-a = {
      production = {
        database = "db.r6g.large"
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
