locals {
  # The first control plane has a fixed address; see the module cloud-init.
  api_address  = cidrhost(var.network.subnets[0].cidr, 10)
  join_address = null
}

module "cloud_init" {
  source = "../../cloud-init"

  platform       = var.platform
  region         = var.region
  subnets        = var.network.subnets
  control_planes = var.control_planes
  workers        = var.workers
  domain         = var.domain
  api_address    = local.api_address
  join_address   = local.join_address
  # The machines have k3s already.
  kubernetes          = merge(var.kubernetes, { binary_url = "" })
  ssh_authorized_keys = var.ssh_authorized_keys
  join_token          = var.join_token
  call_home           = var.call_home
  call_home_token     = var.call_home_token
  air_gap             = var.air_gap
}

# Cloud-init runs once, so changes of it do not touch machines that exist. A new generation replaces them.
resource "terraform_data" "generation" {
  input = var.generation
}

resource "machines_machine" "node" {
  for_each = { for n in module.cloud_init.nodes : n.name => n }

  name      = each.key
  network   = var.network.id
  address   = each.value.private_address
  user_data = module.cloud_init.user_data[each.key]

  lifecycle {
    ignore_changes       = [user_data]
    replace_triggered_by = [terraform_data.generation]
  }
}
