variable "images" {
  type        = map(string)
  description = "The images, by domain."
}

variable "project_id" {
  type        = string
  description = "The project."
}

variable "region" {
  type        = string
  description = "The region."
}
