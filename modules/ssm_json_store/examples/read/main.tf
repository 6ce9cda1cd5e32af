provider "aws" {
  region = "eu-central-1"
}

# A service reads the base system, and an upstream service if it is installed.
module "ssm_data" {
  source = "../.."

  path                 = "/configuration"
  include_filter_regex = "(base|upstream)"
}

locals {
  upstream = try(module.ssm_data.values["upstream"]["installed"], false)
}

resource "terraform_data" "subscription" {
  count = local.upstream ? 1 : 0
  input = nonsensitive(module.ssm_data.values["upstream"]["public"]["sns"]["foo"]["arn"])
}

output "vpc" {
  value = nonsensitive(module.ssm_data.values["base"]["networking"]["vpc_id"])
}

output "subscribed" {
  value = one(terraform_data.subscription[*].output)
}
