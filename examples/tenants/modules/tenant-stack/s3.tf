resource "aws_s3_bucket" "data" {
  bucket        = "${var.bucket_prefix}-${var.tenant_id}-${var.environment}"
  force_destroy = true
  tags          = local.tags
}

resource "aws_s3_bucket_versioning" "data" {
  bucket = aws_s3_bucket.data.id

  versioning_configuration {
    status = "Enabled"
  }
}
