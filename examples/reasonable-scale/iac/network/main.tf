# The network of an account.
variable "account" {
  type = object({ id = string, alias = string })
}

variable "environmentClass" {
  type = string
}

variable "region" {
  type = string
}

locals {
  cidr = var.environmentClass == "prod" ? "10.0.0.0/16" : "10.128.0.0/16"
}

resource "terraform_data" "vpc" {
  input = {
    name = "vpc-${var.account.alias}"
    cidr = local.cidr
  }
}

resource "terraform_data" "subnet" {
  for_each = { for i, zone in ["a", "b", "c"] : zone => cidrsubnet(local.cidr, 8, i) }
  input = {
    zone = "${var.region}${each.key}"
    cidr = each.value
  }
}

output "network" {
  value = {
    vpc     = terraform_data.vpc.output.name
    subnets = { for zone, subnet in terraform_data.subnet : zone => subnet.output.cidr }
  }
}
