# A database in the subnets of a network. A real module would create it with the cloud's provider.
variable "class" {
  type = string
}

variable "subnets" {
  type = list(string)
}

resource "terraform_data" "database" {
  input = {
    class   = var.class
    subnets = var.subnets
  }
}

output "class" {
  value = terraform_data.database.output.class
}
