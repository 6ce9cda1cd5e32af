variable "platform" { type = string }
variable "machines" { type = object({ api_endpoint = string, nodes = list(object({ name = string })) }) }
resource "terraform_data" "cluster" { input = var.machines.api_endpoint }
output "kubernetes" {
  value = { endpoint = terraform_data.cluster.output, version = "v1.34.2", nodes = var.machines.nodes[*].name }
}
