output "machines" {
  description = "The machines, and how to reach their cluster."
  value = {
    api_endpoint = "https://${local.api_address}:6443"
    addresses    = [for n in module.cloud_init.nodes : oci_core_instance.node[n.name].public_ip]
    cni          = var.kubernetes.cni
    nodes = [for n in module.cloud_init.nodes : {
      name            = n.name
      role            = n.role
      id              = oci_core_instance.node[n.name].id
      private_address = n.private_address
      public_address  = oci_core_instance.node[n.name].public_ip
    }]
  }
}
