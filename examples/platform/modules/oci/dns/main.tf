resource "oci_dns_rrset" "address" {
  for_each = toset(var.names)

  zone_name_or_id = var.zone
  compartment_id  = var.compartment_id
  domain          = each.key == "@" ? var.domain : "${each.key}.${var.domain}"
  rtype           = "A"

  dynamic "items" {
    for_each = var.addresses
    content {
      domain = each.key == "@" ? var.domain : "${each.key}.${var.domain}"
      rtype  = "A"
      rdata  = items.value
      ttl    = var.ttl
    }
  }
}
