mock_provider "oci" {}

variables {
  platform       = "acme"
  region         = "eu-frankfurt-1"
  domain         = "acme.example.org"
  addresses      = ["203.0.113.7", "203.0.113.8"]
  zone           = "example.org"
  compartment_id = "ocid1.compartment.oc1..example"
}

run "six_records" {
  assert {
    condition     = length(output.dns.records) == 6 && oci_dns_rrset.address["*"].domain == "*.acme.example.org" && oci_dns_rrset.address["@"].domain == "acme.example.org"
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
