terraform {
  required_version = ">= 1.8"

  required_providers {
    aws = {
      source  = "hashicorp/aws"
      version = ">= 5.60, < 7.0"
    }
  }
}

# Credentials are in the environment: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.
provider "aws" {
  region = var.region
}
