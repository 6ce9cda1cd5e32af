# The account of one tenant's environment. A real program would create it with the cloud's provider.
variable "clientId" {
  type = string
}

variable "environment" {
  type = string
}

variable "region" {
  type = string
}

variable "domain" {
  type = string
}

resource "terraform_data" "account" {
  input = {
    id     = substr(sha256("${var.clientId}/${var.environment}"), 0, 12)
    alias  = "${var.clientId}-${var.environment}"
    region = var.region
    domain = var.domain
  }
}

output "account" {
  value = terraform_data.account.output
}
