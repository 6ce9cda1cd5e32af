variable "images" {
  type        = map(string)
  description = "The images, by domain."
}

variable "aws_region" {
  type        = string
  description = "The region."
}

variable "environment" {
  type        = string
  description = "The word in names of resources."
}
