mock_provider "aws" {
  mock_resource "aws_eks_cluster" {
    defaults = {
      identity = [{ oidc = [{ issuer = "https://oidc.example.com/id/1" }] }]
    }
  }
}

mock_provider "kubernetes" {}

mock_provider "random" {}

variables {
  images       = { order = "registry.example.com/order:1", inventory = "registry.example.com/inventory:1" }
  aws_region   = "eu-central-1"
  cluster_name = "shop"
  namespace    = "shop"
  role_arn     = "arn:aws:iam::123456789012:role/eks"
  subnet_ids   = ["subnet-1", "subnet-2"]
}

run "all_domains_have_addresses" {
  command = plan

  assert {
    condition     = keys(output.entry_points) == ["order"]
    error_message = "The entry points are ${join(", ", keys(output.entry_points))}."
  }

  assert {
    condition     = strcontains(output.topology_mermaid, "order --> inventory")
    error_message = output.topology_mermaid
  }
}
