variable "name" {
  type        = string
  description = "The beginning of all names."
  default     = "@NAME@"
}

# Replace this with the resources of the stack.
resource "terraform_data" "this" {
  input = var.name
}

output "name" {
  description = "The name that was used."
  value       = terraform_data.this.output
}
