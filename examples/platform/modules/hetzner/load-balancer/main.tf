locals {
  # Machines have the addresses from 10 on.
  private_address = cidrhost(var.network.subnets[0].cidr, 5)
}

resource "hcloud_load_balancer" "this" {
  name               = var.name
  load_balancer_type = "lb11"
  location           = var.region
  labels             = var.labels
}

resource "hcloud_load_balancer_network" "this" {
  load_balancer_id = hcloud_load_balancer.this.id
  subnet_id        = var.network.subnets[0].id
  ip               = local.private_address
}

resource "hcloud_load_balancer_service" "api" {
  load_balancer_id = hcloud_load_balancer.this.id
  protocol         = "tcp"
  listen_port      = 6443
  destination_port = 6443

  health_check {
    protocol = "tcp"
    port     = 6443
    interval = 5
    timeout  = 3
    retries  = 3
  }
}

resource "hcloud_load_balancer_target" "servers" {
  load_balancer_id = hcloud_load_balancer.this.id
  type             = "label_selector"
  label_selector   = "yuba.dev/api=${var.name}"
  use_private_ip   = true

  # Targets by private address need the network first.
  depends_on = [hcloud_load_balancer_network.this]
}
