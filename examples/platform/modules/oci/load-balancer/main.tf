resource "oci_network_load_balancer_network_load_balancer" "this" {
  compartment_id = var.compartment_id
  display_name   = var.name
  subnet_id      = var.network.subnets[0].id
  is_private     = false
  freeform_tags  = var.labels

  network_security_group_ids = [var.network.firewall_id]
}

resource "oci_network_load_balancer_backend_set" "api" {
  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.this.id
  name                     = "api"
  policy                   = "FIVE_TUPLE"
  # A machine that joins through the load balancer may reach itself.
  is_preserve_source = false

  health_checker {
    protocol           = "TCP"
    port               = 6443
    interval_in_millis = 10000
    timeout_in_millis  = 3000
    retries            = 3
  }
}

resource "oci_network_load_balancer_backend" "api" {
  for_each = var.backends

  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.this.id
  backend_set_name         = oci_network_load_balancer_backend_set.api.name
  name                     = each.key
  ip_address               = each.value
  port                     = 6443
}

resource "oci_network_load_balancer_listener" "api" {
  network_load_balancer_id = oci_network_load_balancer_network_load_balancer.this.id
  name                     = "api"
  default_backend_set_name = oci_network_load_balancer_backend_set.api.name
  port                     = 6443
  protocol                 = "TCP"
}
