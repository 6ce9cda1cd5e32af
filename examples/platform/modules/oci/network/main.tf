locals {
  name = "${var.platform}-${var.region}"
}

resource "oci_core_vcn" "this" {
  compartment_id = var.compartment_id
  display_name   = local.name
  cidr_blocks    = [var.cidr]
  freeform_tags  = var.labels
}

resource "oci_core_internet_gateway" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  freeform_tags  = var.labels
}

resource "oci_core_route_table" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  freeform_tags  = var.labels

  route_rules {
    destination       = "0.0.0.0/0"
    destination_type  = "CIDR_BLOCK"
    network_entity_id = oci_core_internet_gateway.this.id
  }
}

# The default security list of a network opens SSH to everybody, so the subnet has another one. Ports are opened by the
# security group below.
resource "oci_core_security_list" "closed" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = "${local.name}-closed"
  freeform_tags  = var.labels
}

# A regional subnet: it spans the availability domains.
resource "oci_core_subnet" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  cidr_block     = var.cidr
  route_table_id = oci_core_route_table.this.id
  freeform_tags  = var.labels

  security_list_ids = [oci_core_security_list.closed.id]
}

resource "oci_core_network_security_group" "this" {
  compartment_id = var.compartment_id
  vcn_id         = oci_core_vcn.this.id
  display_name   = local.name
  freeform_tags  = var.labels
}

locals {
  ports = merge(
    { for c in var.api_allowed_cidrs : "api ${c}" => { source = c, port = 6443 } },
    { for c in var.ssh_allowed_cidrs : "ssh ${c}" => { source = c, port = 22 } },
    { http = { source = "0.0.0.0/0", port = 80 }, https = { source = "0.0.0.0/0", port = 443 } },
  )
}

resource "oci_core_network_security_group_security_rule" "port" {
  for_each = local.ports

  network_security_group_id = oci_core_network_security_group.this.id
  direction                 = "INGRESS"
  protocol                  = "6" # TCP
  source                    = each.value.source
  source_type               = "CIDR_BLOCK"

  tcp_options {
    destination_port_range {
      min = each.value.port
      max = each.value.port
    }
  }
}

resource "oci_core_network_security_group_security_rule" "inside" {
  network_security_group_id = oci_core_network_security_group.this.id
  direction                 = "INGRESS"
  protocol                  = "all"
  source                    = var.cidr
  source_type               = "CIDR_BLOCK"
}

resource "oci_core_network_security_group_security_rule" "outside" {
  network_security_group_id = oci_core_network_security_group.this.id
  direction                 = "EGRESS"
  protocol                  = "all"
  destination               = "0.0.0.0/0"
  destination_type          = "CIDR_BLOCK"
}
