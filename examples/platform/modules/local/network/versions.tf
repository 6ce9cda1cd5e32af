terraform {
  required_version = ">= 1.8"

  required_providers {
    machines = {
      source  = "yuba-dev/machines"
      version = "~> 0.1"
    }
  }
}
