# The cloud resources of the service foo.
variable "network" {
  type = object({ subnets = map(string) })
}

variable "cluster" {
  type = object({ name = string, url = string })
}

module "database" {
  source  = "registry.example.com/acme/rds/aws"
  version = "~> 0.1"

  class   = local.selected.database
  subnets = values(var.network.subnets)
}

resource "terraform_data" "queue" {
  input = "${var.clientId}-${var.environment}-${local.service}-events"
}

# The values for other services are under "public".
output "foo" {
  value = {
    installed = true
    public    = { queue = terraform_data.queue.output }
  }
}

output "runtime" {
  value = {
    cluster   = var.cluster.name
    namespace = local.selected.namespace
    replicas  = local.selected.replicas
    database  = module.database.class
  }
}
