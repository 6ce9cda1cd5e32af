variable "first_port" {
  type        = number
  description = "The port of the first component; the others follow."
}

locals {
  names = sort(keys(local.components))
  urls  = { for i, name in local.names : name => "http://127.0.0.1:${terraform_data.component[name].output.port}" }
}

# The configuration of a component, which the process reads.
resource "terraform_data" "component" {
  for_each = local.components
  input = {
    port  = var.first_port + index(local.names, each.key)
    image = each.value.image
    env   = merge(local.env, { STORAGE_URI = var.storage.uri })
  }
}
