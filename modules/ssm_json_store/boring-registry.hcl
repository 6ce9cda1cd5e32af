metadata {
  namespace = "yuba"
  name      = "ssm_json_store"
  provider  = "aws"
  version   = "1.0.2"
}
