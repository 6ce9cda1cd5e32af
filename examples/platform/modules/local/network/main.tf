resource "machines_network" "this" {
  name = "${var.platform}-${var.region}"
  cidr = var.cidr
}
