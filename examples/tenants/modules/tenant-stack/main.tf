# The resources of each tenant: a bucket, a database and a distribution. This is not a template; tenants differ by variables.
terraform {
  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = "~> 5.0"
    }
    random = {
      source  = "hashicorp/random"
      version = "~> 3.5"
    }
  }
}

provider "aws" {
  region = var.aws_region
}

locals {
  tags = {
    TenantId    = var.tenant_id
    Environment = var.environment
    ManagedBy   = "yuba"
  }
}
