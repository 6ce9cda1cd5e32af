mock_provider "oci" {}

variables {
  platform       = "acme"
  region         = "eu-frankfurt-1"
  compartment_id = "ocid1.compartment.oc1..example"
}

run "defaults" {
  assert {
    condition     = output.network.cidr == "10.20.0.0/16" && length(output.network.subnets) == 1 && output.network.firewall_id != ""
    error_message = "The network is not what the phase machines wants."
  }
}

run "ssh_is_closed_unless_opened" {
  variables {
    ssh_allowed_cidrs = ["198.51.100.0/24"]
  }
  assert {
    condition     = strcontains(jsonencode(oci_core_network_security_group_security_rule.port), "198.51.100.0/24")
    error_message = "The rule for SSH is missing."
  }
}

run "small_networks_are_refused" {
  command = plan
  variables {
    cidr = "10.0.0.0/28"
  }
  expect_failures = [var.cidr]
}
