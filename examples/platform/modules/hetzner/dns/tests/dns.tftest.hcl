mock_provider "hcloud" {}

variables {
  platform  = "acme"
  region    = "fsn1"
  domain    = "acme.example.org"
  addresses = ["203.0.113.7", "203.0.113.8"]
  zone      = "example.org"
  zone_name = "example.org"
}

run "six_records" {
  assert {
    condition     = length(output.dns.records) == 6 && hcloud_zone_rrset.address["*"].name == "*.acme" && hcloud_zone_rrset.address["@"].name == "acme"
    error_message = "The six records of a platform are at its domain and below it."
  }
}

run "no_address" {
  command = plan
  variables {
    addresses = []
  }
  expect_failures = [var.addresses]
}
