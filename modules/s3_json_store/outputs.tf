output "values" {
  value       = local.values
  description = "The documents that were read, by name: values[\"base\"][\"domain\"]. A document that does not exist is not there; see try()."
}

output "names" {
  value       = local.included
  description = "The names of the documents that were read."
}

output "key" {
  value       = one(aws_s3_object.document[*].key)
  description = "The key of the object that was written, or null."
}

output "etag" {
  value       = one(aws_s3_object.document[*].etag)
  description = "The ETag of the object that was written, or null."
}
