provider "aws" {
  region            = "eu-central-1"
  s3_use_path_style = true # for servers without a name of each bucket
}

variable "bucket" {
  type = string
}

# A document that is too large for a parameter.
module "catalog" {
  source = "../.."

  bucket = var.bucket
  path   = "/configuration"
  name   = "catalog"
  data = {
    installed = true
    public    = { for i in range(1000) : "product-${i}" => { price = i / 100 } }
  }
}

output "key" {
  value = module.catalog.key
}
