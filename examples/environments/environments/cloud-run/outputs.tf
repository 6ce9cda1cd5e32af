output "topology_mermaid" {
  description = "The topology in the language of Mermaid."
  value       = module.stack.topology_mermaid
}

output "entry_points" {
  description = "The addresses that clients call, by domain."
  value       = module.stack.entry_points
}

output "discovery_env" {
  description = "The addresses of all aggregates."
  value       = module.stack.discovery_env
}
