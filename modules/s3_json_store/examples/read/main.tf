provider "aws" {
  region            = "eu-central-1"
  s3_use_path_style = true # for servers without a name of each bucket
}

variable "bucket" {
  type = string
}

module "data" {
  source = "../.."

  bucket               = var.bucket
  path                 = "/configuration"
  include_filter_regex = "(base|catalog)"
  sensitive            = false
}

output "names" {
  value = module.data.names
}

output "price" {
  value = try(module.data.values["catalog"]["public"]["product-999"]["price"], null)
}
