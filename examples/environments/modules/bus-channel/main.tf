# A bus inside of one process: there is nothing to make.
output "bus" {
  description = "The bus, for domains."
  value       = { type = "channel", uri = "channel://local" }
}

output "provides" {
  description = "What domains can rely on."
  value       = { ordered = true, durable = false }
}

output "requirements" {
  description = "What must be there before an apply."
  value       = []
}
