output "values" {
  value       = local.values
  description = "The documents that were read, by name: values[\"base\"][\"domain\"]. A document that does not exist is not there; see try()."
}

output "names" {
  value       = local.included
  description = "The names of the documents that were read."
}

output "parameters" {
  value       = { for name, p in aws_ssm_parameter.document : name => p.name }
  description = "The parameters that were written, by the names of their documents."
}

output "versions" {
  value       = { for name, p in aws_ssm_parameter.document : name => p.version }
  description = "The versions of the parameters that were written."
}
