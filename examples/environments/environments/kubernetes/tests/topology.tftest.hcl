mock_provider "kubernetes" {}

mock_provider "random" {}

variables {
  images    = { order = "registry.example.com/order:1", inventory = "registry.example.com/inventory:1" }
  namespace = "shop"
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
