output "network" {
  description = "The network, for the phase machines."
  value = {
    id          = oci_core_vcn.this.id
    cidr        = var.cidr
    firewall_id = oci_core_network_security_group.this.id
    subnets     = [for z in length(var.zones) > 0 ? var.zones : [""] : { id = oci_core_subnet.this.id, zone = z, cidr = var.cidr }]
  }
}
