variable "images" {
  type        = map(string)
  description = "The images, by domain."
}

variable "namespace" {
  type        = string
  description = "The namespace of all objects."
}
