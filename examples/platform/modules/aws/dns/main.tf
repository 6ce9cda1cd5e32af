resource "aws_route53_record" "address" {
  for_each = toset(var.names)

  zone_id = var.zone
  name    = each.key == "@" ? var.domain : "${each.key}.${var.domain}"
  type    = "A"
  ttl     = var.ttl
  records = var.addresses
}
