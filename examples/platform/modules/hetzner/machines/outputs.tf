output "machines" {
  description = "The machines, and how to reach their cluster."
  value = {
    api_endpoint = "https://${local.api_address}:6443"
    addresses    = local.balanced ? [local.api_address] : [for n in module.cloud_init.nodes : hcloud_server.node[n.name].ipv4_address]
    cni          = var.kubernetes.cni
    nodes = [for n in module.cloud_init.nodes : {
      name            = n.name
      role            = n.role
      id              = hcloud_server.node[n.name].id
      private_address = n.private_address
      public_address  = hcloud_server.node[n.name].ipv4_address
    }]
  }
}
