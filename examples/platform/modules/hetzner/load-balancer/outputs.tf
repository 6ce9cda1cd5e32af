output "load_balancer" {
  description = "Addresses of the load balancer."
  value       = { id = hcloud_load_balancer.this.id, address = hcloud_load_balancer.this.ipv4, private_address = local.private_address }
}
