variable "name" {
  type        = string
  description = "The beginning of all names."

  validation {
    condition     = can(regex("^[a-z][a-z0-9-]*$", var.name))
    error_message = "The name must begin with a small letter, and have small letters, digits and hyphens only."
  }
}
