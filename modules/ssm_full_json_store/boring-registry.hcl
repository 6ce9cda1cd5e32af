metadata {
  namespace = "yuba"
  name      = "ssm_full_json_store"
  provider  = "aws"
  version   = "0.3.1"
}
