output "network" {
  description = "The network, for the phase machines."
  value = {
    id          = aws_vpc.this.id
    cidr        = var.cidr
    firewall_id = aws_security_group.this.id
    subnets     = [for z in local.zones : { id = aws_subnet.this[z].id, zone = z, cidr = local.subnets[z] }]
  }
}
