output "machines" {
  description = "The machines, and how to reach their cluster."
  value = {
    api_endpoint = "https://${local.api_address}:6443"
    addresses    = local.balanced ? [for n in module.cloud_init.nodes : aws_instance.node[n.name].public_ip] : [local.api_address]
    cni          = var.kubernetes.cni
    nodes = [for n in module.cloud_init.nodes : {
      name            = n.name
      role            = n.role
      id              = aws_instance.node[n.name].id
      private_address = n.private_address
      public_address  = n.name == local.first && !local.balanced ? local.api_address : aws_instance.node[n.name].public_ip
    }]
  }
}
