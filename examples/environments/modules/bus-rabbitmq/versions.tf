terraform {
  required_version = ">= 1.8"

  required_providers {
    kubernetes = { source = "hashicorp/kubernetes", version = ">= 2.30, < 4.0" }
    random     = { source = "hashicorp/random", version = ">= 3.0" }
  }
}
