output "provides" {
  description = "What domains on this target can rely on."
  value       = module.base.provides
}
