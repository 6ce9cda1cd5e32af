variable "images" {
  type        = map(string)
  description = "The images, by domain."
  default     = { order = "shop-order", inventory = "shop-inventory" }
}

variable "data_dir" {
  type        = string
  description = "The directory of the databases."
}
