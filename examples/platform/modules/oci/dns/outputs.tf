output "dns" {
  description = "The records."
  value       = { domain = var.domain, records = [for n in var.names : n == "@" ? var.domain : "${n}.${var.domain}"] }
}
