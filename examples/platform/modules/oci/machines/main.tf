locals {
  name = "${var.platform}-${var.region}"
  # Always with a load balancer: a reserved address can only be given to a machine that exists, and the address must be in the
  # machine's cloud-config. Oracle's network load balancers cost nothing.
  api_address  = module.load_balancer.load_balancer.address
  join_address = null
  zones        = data.oci_identity_availability_domains.all.availability_domains[*].name
}

data "oci_identity_availability_domains" "all" {
  compartment_id = var.compartment_id
}

module "load_balancer" {
  source = "../load-balancer"

  name           = local.name
  region         = var.region
  labels         = var.labels
  network        = var.network
  compartment_id = var.compartment_id
  backends       = { for n in module.cloud_init.nodes : n.name => n.private_address if n.role == "server" }
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

resource "oci_core_instance" "node" {
  for_each = { for n in module.cloud_init.nodes : n.name => n }

  compartment_id      = var.compartment_id
  availability_domain = each.value.subnet.zone != "" ? each.value.subnet.zone : local.zones[index(module.cloud_init.nodes[*].name, each.key) % length(local.zones)]
  display_name        = each.key
  shape               = each.value.role == "server" ? var.size : coalesce(var.worker_size, var.size)
  freeform_tags       = var.labels
  metadata            = { user_data = base64encode(module.cloud_init.user_data[each.key]) }

  shape_config {
    ocpus         = 2
    memory_in_gbs = 8
  }

  create_vnic_details {
    subnet_id        = each.value.subnet.id
    private_ip       = each.value.private_address
    assign_public_ip = true
    nsg_ids          = [var.network.firewall_id]
    hostname_label   = each.key
  }

  source_details {
    source_type             = "image"
    source_id               = var.image
    boot_volume_size_in_gbs = 50
  }

  # Only the second version asks for a header, which keeps Pods that can be tricked into requests from the user data.
  instance_options {
    are_legacy_imds_endpoints_disabled = true
  }

  lifecycle {
    ignore_changes       = [metadata, source_details]
    replace_triggered_by = [terraform_data.generation]
  }
}
