variable "platform" { type = string }
variable "region" { type = string }
variable "labels" { type = map(string) }
variable "domain" { type = string }
variable "network" { type = object({ id = string, cidr = string }) }
variable "control_planes" { type = number }
variable "workers" { type = number }
variable "join_token" {
  type      = string
  sensitive = true
}
resource "terraform_data" "node" {
  count = var.control_planes + var.workers
  input = "${var.platform}-${count.index}.${var.network.id}"
}
output "machines" {
  value = {
    api_endpoint = "https://192.0.2.10:6443"
    addresses    = ["192.0.2.10"]
    cni          = "flannel"
    nodes        = [for n in terraform_data.node : { name = n.output, role = "server", id = n.id, private_address = "10.20.0.2", public_address = "192.0.2.10" }]
  }
}
