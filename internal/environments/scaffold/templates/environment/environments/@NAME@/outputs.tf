output "name" {
  description = "The name of the environment."
  value       = local.name
}
