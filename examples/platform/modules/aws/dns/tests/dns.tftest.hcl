mock_provider "aws" {}

variables {
  platform  = "acme"
  region    = "eu-central-1"
  domain    = "acme.example.org"
  addresses = ["203.0.113.7", "203.0.113.8"]
  zone      = "Z1"
}

run "six_records" {
  assert {
    condition     = length(output.dns.records) == 6 && aws_route53_record.address["*"].name == "*.acme.example.org" && aws_route53_record.address["@"].name == "acme.example.org"
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
