output "provides" {
  description = "What domains on this target can rely on."
  value = {
    compute = "@NAME@"
    name    = terraform_data.base.output
  }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = []
}
