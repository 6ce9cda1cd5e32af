# The topology of a system: which domains there are, and who sends to whom. It makes nothing; it checks, and
# draws.
variable "name" {
  type        = string
  description = "The name of the system."
}

variable "compute" {
  type        = string
  description = "Where the domains run."
  validation {
    condition     = contains(["standalone", "kubernetes", "cloud-run", "fargate"], var.compute)
    error_message = "The compute must be standalone, kubernetes, cloud-run or fargate."
  }
}

variable "domains" {
  type = map(object({
    entry_point = optional(bool, false)
    sends_to    = optional(list(string), [])
  }))
  description = "The domains by name, and the domains that their sagas send commands to."
  validation {
    condition     = alltrue(flatten([for name, domain in var.domains : [for target in domain.sends_to : contains(keys(var.domains), target) && target != name]]))
    error_message = "Each domain in sends_to must be another one of domains."
  }
}

variable "aggregate_urls" {
  type        = map(string)
  description = "The addresses of the aggregates, by domain, once they are known."
  default     = {}
}

output "topology_mermaid" {
  description = "The topology in the language of Mermaid."
  value = join("\n", concat(["flowchart LR"],
    [for name, domain in var.domains : domain.entry_point ? "  ${name}([${name}])" : "  ${name}[${name}]"],
    flatten([for name, domain in var.domains : [for target in domain.sends_to : "  ${name} --> ${target}"]]),
  ))
}

output "entry_points" {
  description = "The addresses that clients call, by domain."
  value       = { for name, domain in var.domains : name => lookup(var.aggregate_urls, name, null) if domain.entry_point }
}

output "discovery_env" {
  description = "The addresses of all aggregates, by the name of a variable of the environment."
  value       = { for name, url in var.aggregate_urls : upper(replace("${name}_url", "-", "_")) => url }
}
