variable "name" {
  type = string
}

resource "terraform_data" "greeting" {
  input = "Hello, ${var.name}!"
}

output "greeting" {
  value = terraform_data.greeting.output
}
