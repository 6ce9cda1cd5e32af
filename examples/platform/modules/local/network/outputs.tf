output "network" {
  description = "The network, for the phase machines."
  value = {
    id          = machines_network.this.id
    cidr        = var.cidr
    firewall_id = ""
    subnets     = [{ id = machines_network.this.id, zone = "", cidr = var.cidr }]
  }
}
