mock_provider "hcloud" {
  mock_resource "hcloud_primary_ip" {
    defaults = { ip_address = "203.0.113.7" }
  }
  mock_resource "hcloud_load_balancer" {
    defaults = { ipv4 = "203.0.113.8" }
  }
}


variables {
  platform        = "acme"
  region          = "fsn1"
  join_token      = "0123456789abcdef0123456789abcdef"
  call_home       = { url = "https://yuba.example.com/call-home/platform/acme", ca = "-----BEGIN CERTIFICATE-----" }
  call_home_token = "one-time-token"
  network = {
    id          = "net-1"
    cidr        = "10.20.0.0/16"
    firewall_id = "fw-1"
    subnets     = [{ id = "sub-1", zone = "", cidr = "10.20.0.0/18" }, { id = "sub-2", zone = "", cidr = "10.20.64.0/18" }]
  }
}

run "one_machine" {
  assert {
    condition     = output.machines.api_endpoint == "https://203.0.113.7:6443" && output.machines.nodes[0].private_address == "10.20.0.10"
    error_message = "The API is not at the address that was reserved for it."
  }
  assert {
    condition     = strcontains(hcloud_server.node["acme-fsn1-server-1"].user_data, "203.0.113.7") && strcontains(hcloud_server.node["acme-fsn1-server-1"].user_data, "one-time-token")
    error_message = "The first machine does not know its address or its token."
  }
}

run "three_control_planes" {
  variables {
    control_planes = 3
    workers        = 2
  }
  assert {
    condition     = output.machines.api_endpoint == "https://203.0.113.8:6443" && length(output.machines.nodes) == 5
    error_message = "Five machines are behind a load balancer."
  }
  assert {
    condition     = output.machines.nodes[1].private_address == "10.20.64.10" && output.machines.nodes[3].private_address == "10.20.0.20" && length(distinct(output.machines.nodes[*].private_address)) == 5
    error_message = "The machines are not spread over the subnets."
  }
  assert {
    condition     = strcontains(hcloud_server.node["acme-fsn1-server-1"].user_data, "cluster-init") && !strcontains(hcloud_server.node["acme-fsn1-server-2"].user_data, "cluster-init") && strcontains(hcloud_server.node["acme-fsn1-server-2"].user_data, "k3s server") && strcontains(hcloud_server.node["acme-fsn1-agent-1"].user_data, "k3s agent")
    error_message = "Only the first machine starts the cluster."
  }
  assert {
    condition     = !strcontains(hcloud_server.node["acme-fsn1-server-2"].user_data, "one-time-token") && !strcontains(hcloud_server.node["acme-fsn1-agent-1"].user_data, "one-time-token")
    error_message = "Only the machine that calls home has the token."
  }
}

run "two_control_planes_are_refused" {
  command = plan
  variables {
    control_planes = 2
  }
  expect_failures = [var.control_planes]
}
