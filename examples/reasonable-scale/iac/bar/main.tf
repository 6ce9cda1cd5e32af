# The cloud resources of the service bar. It listens to foo's queue if foo exists.
variable "cluster" {
  type = object({ name = string })
}

variable "foo" {
  type = object({
    installed = optional(bool, false)
    public    = optional(object({ queue = string }))
  })
  default = {}
}

resource "terraform_data" "bucket" {
  input = {
    name      = "${var.clientId}-${var.environment}-${local.service}"
    retention = local.selected.retention
  }
}

resource "terraform_data" "subscription" {
  count = var.foo.installed ? 1 : 0
  input = {
    queue  = var.foo.public.queue
    bucket = terraform_data.bucket.output.name
  }
}

output "bar" {
  value = {
    installed  = true
    cluster    = var.cluster.name
    retention  = terraform_data.bucket.output.retention
    subscribed = one(terraform_data.subscription[*].output.queue)
  }
}
