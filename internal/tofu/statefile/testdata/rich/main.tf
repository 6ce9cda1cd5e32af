# Everything a state can say without a provider from outside: modules, keys, tainted, data, sensitive values, all types.
variable "password" {
  type      = string
  sensitive = true
  default   = "hunter2"
}

variable "upstream" {
  type = string
}

resource "terraform_data" "plain" {
  input = "plain"
}

resource "terraform_data" "counted" {
  count = 2
  input = { number = count.index, list = [1, "two", null], empty = {} }
}

resource "terraform_data" "keyed" {
  for_each = toset(["a", "it's \"quoted\" \\ $${x} %%{y}", "ümläut ✓", "new\nline"])
  input    = each.key
}

resource "terraform_data" "secret" {
  input = {
    user     = "admin"
    password = var.password
    list     = ["open", var.password]
  }
}

data "terraform_remote_state" "upstream" {
  backend = "local"
  config  = { path = var.upstream }
}

module "single" {
  source = "./modules/part"
}

module "many" {
  source   = "./modules/part"
  for_each = { x = 1, "y/z" = 2 }
}

output "string" {
  value = "plain <b>&amp;</b> \u2028 \"quoted\""
}

output "multiline" {
  value = "one\ntwo\n"
}

output "empty_string" {
  value = ""
}

output "number" {
  value = 3.14159265358979323846264338327950288
}

output "big" {
  value = 123456789012345678901234567890
}

output "exponent" {
  value = 1e21
}

output "bool" {
  value = true
}

output "secret" {
  value     = "pw: ${var.password}"
  sensitive = true
}

output "list" {
  value = tolist(["a", "<b>"])
}

output "empty_list" {
  value = tolist([])
}

output "set" {
  value = toset(["b", "a"])
}

output "map" {
  value = tomap({ "k y" = 1, a = 2 })
}

output "empty_map" {
  value = {}
}

output "tuple" {
  value = [1, "two", null, { three = [3] }]
}

output "object" {
  value = {
    z      = null
    a      = { deep = { deeper = ["x", { y = "&" }] } }
    secret = sensitive("s3cr3t")
  }
  sensitive = true
}
