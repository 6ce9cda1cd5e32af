# The interface of a domain, the same for all targets.
variable "domain" {
  type        = string
  description = "The name of the domain."
}

variable "aggregate" {
  type = object({
    enabled       = optional(bool, true)
    min_instances = optional(number, 0)
    max_instances = optional(number, 3)
    env           = optional(map(string), {})
  })
  description = "The aggregate: how many instances, and their environment."
  default     = {}
}

variable "sagas" {
  type = map(object({
    target_domain = string
    max_instances = optional(number, 1)
  }))
  description = "Sagas by name, with the domain that each sends commands to."
  default     = {}
}

variable "projectors" {
  type        = map(object({ max_instances = optional(number, 1) }))
  description = "Projectors by name."
  default     = {}
}

variable "images" {
  type = object({
    aggregate  = string
    sagas      = optional(map(string), {})
    projectors = optional(map(string), {})
  })
  description = "The images, by component."
}

variable "storage" {
  type        = object({ type = string, uri = string, secret = optional(string) })
  description = "Where events are kept: the output storage of a storage module."
}

variable "bus" {
  type        = object({ type = string, uri = string })
  description = "How events travel: the output bus of a bus module."
}

variable "discovery_env" {
  type        = map(string)
  description = "The addresses of other domains, by the name of a variable of the environment."
  default     = {}
}

locals {
  components = merge(
    var.aggregate.enabled ? { aggregate = { image = var.images.aggregate, max_instances = var.aggregate.max_instances } } : {},
    { for name, saga in var.sagas : "saga-${name}" => { image = lookup(var.images.sagas, name, var.images.aggregate), max_instances = saga.max_instances } },
    { for name, projector in var.projectors : "projector-${name}" => { image = lookup(var.images.projectors, name, var.images.aggregate), max_instances = projector.max_instances } },
  )
  env = merge({
    DOMAIN       = var.domain
    STORAGE_TYPE = var.storage.type
    BUS_TYPE     = var.bus.type
    BUS_URI      = var.bus.uri
  }, var.discovery_env, var.aggregate.env)
}

output "domain" {
  description = "The name of the domain."
  value       = var.domain
}

output "aggregate_url" {
  description = "The address of the aggregate; null without one."
  value       = lookup(local.urls, "aggregate", null)
}

output "saga_urls" {
  description = "The addresses of the sagas, by name."
  value       = { for name in keys(var.sagas) : name => local.urls["saga-${name}"] }
}

output "projector_urls" {
  description = "The addresses of the projectors, by name."
  value       = { for name in keys(var.projectors) : name => local.urls["projector-${name}"] }
}

output "discovery_entries" {
  description = "The addresses for other domains, by the name of a variable of the environment."
  value       = { for name, url in local.urls : upper(replace("${var.domain}_${name}_url", "-", "_")) => url }
}
