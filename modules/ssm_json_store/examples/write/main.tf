provider "aws" {
  region = "eu-central-1"
}

# The base system tells others its domain, network and cluster.
module "ssm_service_data" {
  source = "../.."

  path = "/configuration"
  name = "base"
  data = {
    domain      = "stage.tenant-a.example.com"
    environment = "stage"
    networking = {
      vpc_id         = "vpc-0a1b2c3d"
      subnet_k8s_ids = ["subnet-1", "subnet-2"]
    }
    cluster = {
      name = "tenant-a-stage"
    }
  }
}
