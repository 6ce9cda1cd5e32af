terraform {
  required_version = ">= 1.8"

  required_providers {
    kubectl = {
      source  = "gavinbunney/kubectl"
      version = "~> 1.19"
    }
  }
}

locals {
  # The kubeconfig came from a node, and has been checked when it arrived: one cluster, one user, no programs.
  cluster = yamldecode(var.kubeconfig).clusters[0].cluster
  user    = yamldecode(var.kubeconfig).users[0].user
}

provider "kubectl" {
  host                   = local.cluster.server
  cluster_ca_certificate = base64decode(local.cluster["certificate-authority-data"])
  client_certificate     = try(base64decode(local.user["client-certificate-data"]), null)
  client_key             = try(base64decode(local.user["client-key-data"]), null)
  token                  = try(local.user.token, null)
  load_config_file       = false
}
