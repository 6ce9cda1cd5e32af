locals {
  domains = {
    order     = { entry_point = true, sends_to = ["inventory"] }
    inventory = { entry_point = false, sends_to = [] }
  }
}

module "stack" {
  source         = "../../modules/stack"
  name           = "shop"
  compute        = "cloud-run"
  domains        = local.domains
  aggregate_urls = { order = module.order.aggregate_url, inventory = module.inventory.aggregate_url }
}

provider "google" {
  project = var.project_id
  region  = var.region
}

module "base" {
  source     = "../../modules/cloudrun-base"
  project_id = var.project_id
  region     = var.region
  name       = "shop"
}

module "storage" {
  source     = "../../modules/storage-cloudsql"
  project_id = var.project_id
  region     = var.region
  name       = "shop"
}

module "bus" {
  source     = "../../modules/bus-pubsub"
  project_id = var.project_id
  name       = "shop-events"
}

module "order" {
  source          = "../../modules/cloudrun-domain"
  domain          = "order"
  storage         = module.storage.storage
  bus             = module.bus.bus
  project_id      = var.project_id
  region          = var.region
  service_account = module.base.service_account

  images        = { aggregate = var.images["order"], sagas = { fulfillment = var.images["order"] } }
  sagas         = { fulfillment = { target_domain = "inventory" } }
  discovery_env = module.inventory.discovery_entries
}

module "inventory" {
  source          = "../../modules/cloudrun-domain"
  domain          = "inventory"
  storage         = module.storage.storage
  bus             = module.bus.bus
  project_id      = var.project_id
  region          = var.region
  service_account = module.base.service_account

  images     = { aggregate = var.images["inventory"] }
  projectors = { stock = {} }
}
