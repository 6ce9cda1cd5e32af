provider "aws" {
  region = "eu-central-1"
}

# Reads the documents of all queues: queue-orders, queue-invoices, …
module "queues" {
  source = "../.."

  path                 = "/configuration"
  include_filter_regex = "queue-[a-z]+"
  exclude_filter_regex = "queue-test"
  sensitive            = false
}

output "arns" {
  value = { for name, queue in module.queues.values : trimprefix(name, "queue-") => queue.arn }
}
