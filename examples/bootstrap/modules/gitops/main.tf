variable "platform" { type = string }

resource "terraform_data" "source" {
  input = var.platform
}

output "gitops" {
  value = { namespace = "flux-system", source = terraform_data.source.output }
}
