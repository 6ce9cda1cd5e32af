# Replace this with the resources of the module.
resource "terraform_data" "this" {
  input = var.name
}
