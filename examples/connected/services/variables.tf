variable "subnets" {
  type = map(string)
}

variable "values" {
  type = object({ services = list(object({ name = string, zone = string })) })
}
