locals {
  prefix = "${trimprefix(var.path, "/")}/"
  reads  = var.include_filter_regex != null
}

resource "aws_s3_object" "document" {
  count = var.name == null ? 0 : 1

  bucket       = var.bucket
  key          = "${local.prefix}${var.name}.json"
  content      = jsonencode(var.data)
  content_type = "application/json" # without it, the content cannot be read as a data source
  kms_key_id   = var.kms_key_id
  tags         = var.tags
}

data "aws_s3_objects" "documents" {
  count = local.reads ? 1 : 0

  bucket    = var.bucket
  prefix    = local.prefix
  delimiter = "/"
}

locals {
  names = local.reads ? [
    for key in data.aws_s3_objects.documents[0].keys : trimsuffix(trimprefix(key, local.prefix), ".json")
    if endswith(key, ".json")
  ] : []
  included = [for name in local.names : name if can(regex("^(?:${var.include_filter_regex})$", name))]
}

data "aws_s3_object" "document" {
  for_each = toset(local.included)

  bucket = var.bucket
  key    = "${local.prefix}${each.key}.json"
}

locals {
  # Two expressions, because a conditional one is sensitive if either of its results is.
  values = merge(
    { for name in local.included : name => jsondecode(sensitive(data.aws_s3_object.document[name].body)) if var.sensitive },
    { for name in local.included : name => jsondecode(data.aws_s3_object.document[name].body) if !var.sensitive },
  )
}
