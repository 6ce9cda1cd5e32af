provider "kubernetes" {
  config_path    = var.kubeconfig
  config_context = var.context
}

locals {
  domains = {
    order     = { entry_point = true, sends_to = ["inventory"] }
    inventory = { entry_point = false, sends_to = [] }
  }
}

module "stack" {
  source         = "../../modules/stack"
  name           = "shop"
  compute        = "kubernetes"
  domains        = local.domains
  aggregate_urls = { order = module.order.aggregate_url, inventory = module.inventory.aggregate_url }
}

resource "kubernetes_namespace_v1" "shop" {
  metadata {
    name = var.namespace
  }
}

module "storage" {
  source    = "../../modules/storage-postgres"
  name      = "postgres"
  namespace = kubernetes_namespace_v1.shop.metadata[0].name
}

module "bus" {
  source    = "../../modules/bus-rabbitmq"
  name      = "rabbitmq"
  namespace = kubernetes_namespace_v1.shop.metadata[0].name
}

module "order" {
  source    = "../../modules/kubernetes-domain"
  domain    = "order"
  storage   = module.storage.storage
  bus       = module.bus.bus
  namespace = kubernetes_namespace_v1.shop.metadata[0].name

  images        = { aggregate = var.images["order"], sagas = { fulfillment = var.images["order"] } }
  sagas         = { fulfillment = { target_domain = "inventory" } }
  discovery_env = module.inventory.discovery_entries
}

module "inventory" {
  source    = "../../modules/kubernetes-domain"
  domain    = "inventory"
  storage   = module.storage.storage
  bus       = module.bus.bus
  namespace = kubernetes_namespace_v1.shop.metadata[0].name

  images     = { aggregate = var.images["inventory"] }
  projectors = { stock = {} }
}
