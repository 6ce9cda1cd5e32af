module "base" {
  source = "../../modules/@NAME@-base"
  name   = var.name
}
