variable "bucket" {
  type        = string
  description = "The name of the bucket. It must exist."
}

variable "path" {
  type        = string
  description = "The path of the store, such as /configuration. Documents have the keys PATH/NAME.json, without the first slash."

  validation {
    condition     = can(regex("^(/[A-Za-z0-9_.-]+)+$", var.path))
    error_message = "The path begins with a slash, has no slash at its end, and consists of letters, digits and _ . - between slashes."
  }
}

variable "name" {
  type        = string
  default     = null
  description = "The name of the document that this stack writes, such as base. Null writes nothing."

  validation {
    condition     = var.name == null || can(regex("^[A-Za-z0-9_.-]+$", var.name))
    error_message = "The name consists of letters, digits and _ . - (no slash)."
  }
}

variable "data" {
  type        = any
  default     = null
  description = "The content of the document: an object. Everything that OpenTofu can write as JSON is possible."
}

variable "include_filter_regex" {
  type        = string
  default     = null
  description = "The documents to read: a regular expression that matches the whole name, such as (base|upstream). Null reads nothing."
}

variable "kms_key_id" {
  type        = string
  default     = null
  description = "The ARN of the KMS key that encrypts the document. Null is the bucket's default encryption."
}

variable "sensitive" {
  type        = bool
  default     = true
  description = "Whether the values that are read are sensitive. With false, no nonsensitive() is needed, and plans show them."
}

variable "tags" {
  type        = map(string)
  default     = {}
  description = "Tags of the object."
}
