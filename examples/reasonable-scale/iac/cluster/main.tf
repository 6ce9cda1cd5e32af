# The cluster in a network.
variable "network" {
  type = object({ vpc = string, subnets = map(string) })
}

variable "environmentClass" {
  type = string
}

variable "domain" {
  type = string
}

resource "terraform_data" "cluster" {
  input = {
    name    = replace(var.network.vpc, "vpc-", "cluster-")
    nodes   = var.environmentClass == "prod" ? 6 : 2
    subnets = values(var.network.subnets)
  }
}

output "cluster" {
  value = {
    name = terraform_data.cluster.output.name
    url  = "https://api.${var.domain}"
  }
}
