output "bucket_name" {
  value = aws_s3_bucket.data.id
}

output "db_host" {
  value = aws_db_instance.db.address
}

output "db_port" {
  value = aws_db_instance.db.port
}

output "db_name" {
  value = aws_db_instance.db.db_name
}

output "db_username" {
  value = aws_db_instance.db.username
}

output "db_password" {
  value     = random_password.db.result
  sensitive = true
}

output "cdn_domain_name" {
  value = aws_cloudfront_distribution.cdn.domain_name
}
