variable "path" {
  type        = string
  description = "The path of the store, such as /configuration."

  validation {
    condition     = can(regex("^(/[A-Za-z0-9_.-]+)+$", var.path))
    error_message = "The path begins with a slash, has no slash at its end, and consists of letters, digits and _ . - between slashes."
  }
}

variable "include_filter_regex" {
  type        = string
  description = "The documents to read: a regular expression that matches the whole name below the path, such as (base|upstream) or team-a/.*."
}

variable "exclude_filter_regex" {
  type        = string
  default     = null
  description = "Documents that are not read although the other expression matches their name. Null excludes nothing."
}

variable "sensitive" {
  type        = bool
  default     = true
  description = "Whether the values are sensitive. With false, no nonsensitive() is needed, and plans show them."
}
