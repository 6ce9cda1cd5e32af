resource "terraform_data" "inner" {
  count = 1
  input = path.module
}

module "nested" {
  source = "./nested"
}
