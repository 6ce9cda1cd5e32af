# What all domains on this target share: network, cluster, registry. Replace this with its resources.
resource "terraform_data" "base" {
  input = var.name
}
