locals {
  # Networks span a zone of several locations.
  network_zones = { fsn1 = "eu-central", nbg1 = "eu-central", hel1 = "eu-central", ash = "us-east", hil = "us-west", sin = "ap-southeast" }
}

resource "hcloud_network" "this" {
  name     = "${var.platform}-${var.region}"
  ip_range = var.cidr
  labels   = var.labels
}

resource "hcloud_network_subnet" "this" {
  network_id   = hcloud_network.this.id
  type         = "cloud"
  network_zone = local.network_zones[var.region]
  ip_range     = var.cidr
}

# The private network is not filtered by Hetzner, so rules are for the public interface. A firewall without a rule for
# a port refuses it.
resource "hcloud_firewall" "this" {
  name   = "${var.platform}-${var.region}"
  labels = var.labels

  dynamic "rule" {
    for_each = length(var.api_allowed_cidrs) > 0 ? [var.api_allowed_cidrs] : []
    content {
      description = "Kubernetes API"
      direction   = "in"
      protocol    = "tcp"
      port        = "6443"
      source_ips  = rule.value
    }
  }
  dynamic "rule" {
    for_each = length(var.ssh_allowed_cidrs) > 0 ? [var.ssh_allowed_cidrs] : []
    content {
      description = "SSH"
      direction   = "in"
      protocol    = "tcp"
      port        = "22"
      source_ips  = rule.value
    }
  }
  dynamic "rule" {
    for_each = ["80", "443"]
    content {
      description = "HTTP and HTTPS"
      direction   = "in"
      protocol    = "tcp"
      port        = rule.value
      source_ips  = ["0.0.0.0/0", "::/0"]
    }
  }
}
