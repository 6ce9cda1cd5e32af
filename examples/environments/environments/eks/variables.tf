variable "images" {
  type        = map(string)
  description = "The images, by domain."
}

variable "aws_region" {
  type        = string
  description = "The region."
}

variable "cluster_name" {
  type        = string
  description = "The cluster."
}

variable "namespace" {
  type        = string
  description = "The namespace of all objects."
}

variable "role_arn" {
  type        = string
  description = "The role of the cluster."
}

variable "subnet_ids" {
  type        = list(string)
  description = "The subnets of the cluster."
}
