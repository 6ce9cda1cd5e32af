output "name" {
  description = "The name that was used."
  value       = terraform_data.this.output
}
