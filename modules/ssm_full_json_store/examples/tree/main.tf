provider "aws" {
  region = "eu-central-1"
}

# A platform team writes the documents of several teams, and reads all that are there.
module "ssm_data" {
  source = "../.."

  path = "/configuration"
  documents = {
    "team-a/limits" = { databases = 3, regions = ["eu-central-1"] }
    "team-b/limits" = { databases = 1, regions = [] }
  }
  exclude_filter_regex = "team-b/.*"
  sensitive            = false
}

output "names" {
  value = module.ssm_data.names
}

output "limits" {
  value = { for name, limits in module.ssm_data.values : dirname(name) => limits.databases if basename(name) == "limits" }
}
