# The root module of the stack "network". It uses a module of the same directory.

variable "cidr" {
  type        = string
  description = "Address range of the network"

  validation {
    condition     = can(cidrsubnet(var.cidr, 8, 0))
    error_message = "The range must be large enough for subnets of 8 more bits, such as 10.20.0.0/16."
  }
}

variable "subnets" {
  type        = list(string)
  description = "Names of the subnets"
}

resource "terraform_data" "network" {
  input = var.cidr
}

module "subnet" {
  source   = "./modules/subnet"
  for_each = { for index, name in var.subnets : name => index }

  name    = each.key
  network = terraform_data.network.output
  number  = each.value
}

output "network_id" {
  description = "Id of the network, for other stacks"
  value       = terraform_data.network.id
}

output "subnets" {
  description = "Address ranges of the subnets, by name"
  value       = { for name, subnet in module.subnet : name => subnet.cidr }
}
