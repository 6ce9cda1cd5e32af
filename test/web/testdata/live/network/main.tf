variable "cidr" {
  type    = string
  default = "10.20.0.0/16"
}

resource "terraform_data" "network" {
  input = var.cidr
}

output "base" {
  value = { vpc_id = "vpc-${terraform_data.network.output}", subnets = ["a", "b"] }
}
