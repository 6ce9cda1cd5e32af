output "load_balancer" {
  description = "Addresses of the load balancer."
  value = {
    id      = oci_network_load_balancer_network_load_balancer.this.id
    address = one([for a in oci_network_load_balancer_network_load_balancer.this.ip_addresses : a.ip_address if a.is_public])
  }
}
