locals {
  name         = "${var.platform}-${var.region}"
  balanced     = coalesce(var.load_balancer, var.control_planes > 1)
  api_address  = local.balanced ? one(module.load_balancer[*].load_balancer.address) : hcloud_primary_ip.api[0].ip_address
  join_address = local.balanced ? one(module.load_balancer[*].load_balancer.private_address) : null
  datacenters  = { fsn1 = "fsn1-dc14", nbg1 = "nbg1-dc3", hel1 = "hel1-dc2", ash = "ash-dc1", hil = "hil-dc1", sin = "sin-dc1" }
  first        = "${local.name}-server-1"
}

module "load_balancer" {
  source = "../load-balancer"
  count  = local.balanced ? 1 : 0

  name    = local.name
  region  = var.region
  labels  = var.labels
  network = var.network
}

# The address of the API must be known before the machine exists: it is in the machine's cloud-config.
resource "hcloud_primary_ip" "api" {
  count = local.balanced ? 0 : 1

  name          = "${local.name}-api"
  type          = "ipv4"
  assignee_type = "server"
  datacenter    = local.datacenters[var.region]
  auto_delete   = false
  labels        = var.labels
}

module "cloud_init" {
  source = "../../cloud-init"

  platform            = var.platform
  region              = var.region
  subnets             = var.network.subnets
  control_planes      = var.control_planes
  workers             = var.workers
  domain              = var.domain
  api_address         = local.api_address
  join_address        = local.join_address
  kubernetes          = var.kubernetes
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

# Control planes on different hosts.
resource "hcloud_placement_group" "servers" {
  name   = "${local.name}-servers"
  type   = "spread"
  labels = var.labels
}

resource "hcloud_server" "node" {
  for_each = { for n in module.cloud_init.nodes : n.name => n }

  name               = each.key
  server_type        = each.value.role == "server" ? var.size : coalesce(var.worker_size, var.size)
  image              = var.image
  location           = var.region
  user_data          = module.cloud_init.user_data[each.key]
  firewall_ids       = [var.network.firewall_id]
  placement_group_id = each.value.role == "server" ? hcloud_placement_group.servers.id : null
  labels = merge(var.labels, { "yuba.dev/role" = each.value.role },
  each.value.role == "server" ? { "yuba.dev/api" = local.name } : {})

  public_net {
    ipv4_enabled = true
    ipv4         = each.key == local.first && !local.balanced ? hcloud_primary_ip.api[0].id : null
    ipv6_enabled = true
  }

  network {
    subnet_id = each.value.subnet.id
    ip        = each.value.private_address
    alias_ips = []
  }

  lifecycle {
    ignore_changes       = [user_data, image]
    replace_triggered_by = [terraform_data.generation]
  }
}
