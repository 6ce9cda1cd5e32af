# Selects the configuration of an environment. More specific values win.
variable "configuration" {
  type        = any
  description = "default, environment_classes.CLASS and TENANT.ENVIRONMENT"
}

variable "clientId" {
  type = string
}

variable "environment" {
  type = string
}

variable "environmentClass" {
  type = string
}

output "selected" {
  value = merge(
    var.configuration.default,
    try(var.configuration.environment_classes[var.environmentClass], {}),
    try(var.configuration[var.clientId][var.environment], {}),
  )
}
