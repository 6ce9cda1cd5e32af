terraform {
  required_version = ">= 1.8"

  required_providers {
    oci = {
      source  = "oracle/oci"
      version = ">= 6.0, < 8.0"
    }
  }
}

# Credentials are in the environment: TF_VAR_tenancy_ocid and others, or an instance principal.
provider "oci" {
  region = var.region
}
