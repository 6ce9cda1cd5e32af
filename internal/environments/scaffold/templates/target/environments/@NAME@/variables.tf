variable "name" {
  type        = string
  description = "The beginning of all names."
  default     = "@NAME@"
}
