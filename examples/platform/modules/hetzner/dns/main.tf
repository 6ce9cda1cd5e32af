locals {
  # Names of record sets are relative to the zone.
  inside = trimsuffix(trimsuffix(var.domain, var.zone_name), ".")
}

resource "hcloud_zone_rrset" "address" {
  for_each = toset(var.names)

  zone    = var.zone
  name    = local.inside == "" ? each.key : each.key == "@" ? local.inside : "${each.key}.${local.inside}"
  type    = "A"
  ttl     = var.ttl
  labels  = var.labels
  records = [for a in var.addresses : { value = a }]
}
