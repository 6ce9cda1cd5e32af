terraform {
  required_version = ">= 1.8"

  required_providers {
    google     = { source = "hashicorp/google", version = ">= 5.0, < 8.0" }
    kubernetes = { source = "hashicorp/kubernetes", version = ">= 2.30, < 4.0" }
    random     = { source = "hashicorp/random", version = ">= 3.0" }
  }
}
