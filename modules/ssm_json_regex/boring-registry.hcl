metadata {
  namespace = "yuba"
  name      = "ssm_json_regex"
  provider  = "aws"
  version   = "0.1.0"
}
