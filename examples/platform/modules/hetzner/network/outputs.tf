output "network" {
  description = "The network, for the phase machines."
  value = {
    id          = hcloud_network.this.id
    cidr        = var.cidr
    firewall_id = hcloud_firewall.this.id
    subnets     = [{ id = hcloud_network_subnet.this.id, zone = "", cidr = var.cidr }]
  }
}
