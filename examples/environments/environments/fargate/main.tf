locals {
  domains = {
    order     = { entry_point = true, sends_to = ["inventory"] }
    inventory = { entry_point = false, sends_to = [] }
  }
}

module "stack" {
  source         = "../../modules/stack"
  name           = "shop"
  compute        = "fargate"
  domains        = local.domains
  aggregate_urls = { order = module.order.aggregate_url, inventory = module.inventory.aggregate_url }
}

provider "aws" {
  region = var.aws_region
}

module "base" {
  source             = "../../modules/fargate-base"
  name               = "shop-${var.environment}"
  availability_zones = ["${var.aws_region}a", "${var.aws_region}b"]
}

module "storage" {
  source             = "../../modules/storage-rds"
  identifier         = "shop-${var.environment}"
  subnet_ids         = module.base.base.subnet_ids
  security_group_ids = module.base.base.security_group_ids
}

module "bus" {
  source  = "../../modules/bus-sns-sqs"
  name    = "shop-${var.environment}"
  domains = keys(local.domains)
}

module "order" {
  source  = "../../modules/fargate-domain"
  domain  = "order"
  storage = module.storage.storage
  bus     = module.bus.bus
  base    = module.base.base

  images        = { aggregate = var.images["order"], sagas = { fulfillment = var.images["order"] } }
  sagas         = { fulfillment = { target_domain = "inventory" } }
  discovery_env = module.inventory.discovery_entries
}

module "inventory" {
  source  = "../../modules/fargate-domain"
  domain  = "inventory"
  storage = module.storage.storage
  bus     = module.bus.bus
  base    = module.base.base

  images     = { aggregate = var.images["inventory"] }
  projectors = { stock = {} }
}
