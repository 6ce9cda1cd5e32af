variable "platform" { type = string }
check "name" {
  assert {
    condition     = length(var.platform) > 0
    error_message = "no name"
  }
}
