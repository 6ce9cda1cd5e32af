variable "platform" { type = string }
variable "domain" { type = string }

resource "terraform_data" "vault" {
  input = "https://vault.${var.domain}"
}

output "vault" {
  value = { address = terraform_data.vault.output, store = "${var.platform}-vault" }
}
