variable "tenant_id" {
  type = string
}

variable "tenant_host" {
  type        = string
  description = "Origin host of the distribution"
}

variable "environment" {
  type = string
}

variable "bucket_prefix" {
  type        = string
  description = "Prefix of bucket names, which are unique in all of AWS"
}

variable "aws_region" {
  type    = string
  default = "us-east-1"
}
