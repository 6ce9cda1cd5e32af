terraform {
  required_version = ">= 1.6"
}

variable "name" {
  type        = string
  description = "Name of the bucket"
}

variable "gigabytes" {
  type        = number
  default     = 10
  description = "Size of the bucket"
}

resource "terraform_data" "bucket" {
  input = { name = var.name, gigabytes = var.gigabytes }
}

output "name" {
  value       = terraform_data.bucket.output.name
  description = "Name of the bucket"
}
