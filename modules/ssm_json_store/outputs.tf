output "values" {
  value       = local.values
  description = "The documents that were read, by name: values[\"base\"][\"domain\"]. A document that does not exist is not there; see try()."
}

output "names" {
  value       = local.included
  description = "The names of the documents that were read."
}

output "parameter" {
  value       = one(aws_ssm_parameter.document[*].name)
  description = "The parameter that was written, or null."
}

output "arn" {
  value       = one(aws_ssm_parameter.document[*].arn)
  description = "The ARN of the parameter that was written, or null."
}

output "version" {
  value       = one(aws_ssm_parameter.document[*].version)
  description = "The version of the parameter that was written, or null."
}
