variables {
  name    = "shop"
  compute = "standalone"
}

run "draws_who_sends_to_whom" {
  command = plan
  variables {
    domains = {
      order     = { entry_point = true, sends_to = ["inventory"] }
      inventory = {}
    }
  }
  assert {
    condition     = strcontains(output.topology_mermaid, "order --> inventory")
    error_message = output.topology_mermaid
  }
}

run "refuses_domains_that_are_not_there" {
  command = plan
  variables {
    domains = { order = { sends_to = ["inventroy"] } }
  }
  expect_failures = [var.domains]
}
