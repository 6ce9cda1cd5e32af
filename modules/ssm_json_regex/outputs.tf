output "values" {
  value       = local.values
  description = "The documents that were read, by name: values[\"base\"][\"domain\"]. A document that does not exist is not there; see try()."
}

output "names" {
  value       = local.included
  description = "The names of the documents that were read."
}
