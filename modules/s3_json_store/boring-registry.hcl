metadata {
  namespace = "yuba"
  name      = "s3_json_store"
  provider  = "aws"
  version   = "1.0.0"
}
