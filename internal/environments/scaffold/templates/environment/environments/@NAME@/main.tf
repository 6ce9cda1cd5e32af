# Call the modules of the environment here:
#
#   module "shop" {
#     source = "../../modules/shop"
#     name   = local.name
#   }
locals {
  name = "@NAME@"
}
