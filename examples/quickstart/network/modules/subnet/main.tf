variable "name" {
  type = string
}

variable "network" {
  type        = string
  description = "Address range that contains the subnet"
}

variable "number" {
  type = number
}

resource "terraform_data" "subnet" {
  input = {
    name = var.name
    cidr = cidrsubnet(var.network, 8, var.number)
  }
}

output "cidr" {
  value = terraform_data.subnet.output.cidr
}
