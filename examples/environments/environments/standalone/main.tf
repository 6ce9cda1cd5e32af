locals {
  domains = {
    order     = { entry_point = true, sends_to = ["inventory"] }
    inventory = { entry_point = false, sends_to = [] }
  }
}

module "stack" {
  source         = "../../modules/stack"
  name           = "shop"
  compute        = "standalone"
  domains        = local.domains
  aggregate_urls = { order = module.order.aggregate_url, inventory = module.inventory.aggregate_url }
}

module "storage" {
  source   = "../../modules/storage-sqlite"
  name     = "shop"
  data_dir = var.data_dir
}

module "bus" {
  source = "../../modules/bus-channel"
}

module "order" {
  source     = "../../modules/standalone-domain"
  domain     = "order"
  storage    = module.storage.storage
  bus        = module.bus.bus
  first_port = 7000

  images        = { aggregate = var.images["order"], sagas = { fulfillment = var.images["order"] } }
  sagas         = { fulfillment = { target_domain = "inventory" } }
  discovery_env = module.inventory.discovery_entries
}

module "inventory" {
  source     = "../../modules/standalone-domain"
  domain     = "inventory"
  storage    = module.storage.storage
  bus        = module.bus.bus
  first_port = 7100

  images     = { aggregate = var.images["inventory"] }
  projectors = { stock = {} }
}
