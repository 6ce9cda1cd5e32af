metadata {
  namespace = "acme"
  name      = "configuration"
  provider  = "aws"
  version   = "0.1.0"
}
