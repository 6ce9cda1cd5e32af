variable "platform" { type = string }
variable "region" { type = string }
variable "labels" { type = map(string) }
variable "cidr" {
  type    = string
  default = "10.20.0.0/16"
}
resource "terraform_data" "network" {
  input = { id = "${var.platform}-net", cidr = var.cidr, firewall_id = "" }
}
output "network" {
  value = merge(terraform_data.network.output, { subnets = [] })
}
