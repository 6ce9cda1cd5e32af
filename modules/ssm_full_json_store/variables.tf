variable "path" {
  type        = string
  description = "The path of the store, such as /configuration."

  validation {
    condition     = can(regex("^(/[A-Za-z0-9_.-]+)+$", var.path))
    error_message = "The path begins with a slash, has no slash at its end, and consists of letters, digits and _ . - between slashes."
  }
}

variable "documents" {
  type        = any
  default     = {}
  description = "The documents that this stack writes, by name. A name can have slashes: team-a/foo."

  validation {
    condition     = alltrue([for name in keys(var.documents) : can(regex("^[A-Za-z0-9_.-]+(/[A-Za-z0-9_.-]+)*$", name))])
    error_message = "Names consist of letters, digits and _ . - between single slashes."
  }
}

variable "include_filter_regex" {
  type        = string
  default     = ".*"
  description = "The documents to read: a regular expression that matches the whole name below the path, such as (base|foo|bar)."
}

variable "exclude_filter_regex" {
  type        = string
  default     = null
  description = "Documents that are not read although the other expression matches their name. Null excludes nothing."
}

variable "type" {
  type        = string
  default     = "SecureString"
  description = "The type of the parameters: SecureString (encrypted) or String."

  validation {
    condition     = contains(["SecureString", "String"], var.type)
    error_message = "The type is SecureString or String."
  }
}

variable "key_id" {
  type        = string
  default     = null
  description = "The KMS key for SecureStrings. Null is the account's key for SSM."
}

variable "sensitive" {
  type        = bool
  default     = true
  description = "Whether the values are sensitive. With false, no nonsensitive() is needed, and plans show them."
}

variable "tags" {
  type        = map(string)
  default     = {}
  description = "Tags of the parameters."
}
