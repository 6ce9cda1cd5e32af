variable "tenant_id" {
  type = string
}

variable "tenant_host" {
  type        = string
  description = "The host that the distribution fetches from"
}

variable "environment" {
  type = string
}

variable "bucket_prefix" {
  type        = string
  description = "What the names of buckets begin with; they are unique in the whole of AWS"
}

variable "aws_region" {
  type    = string
  default = "us-east-1"
}
