data "aws_ssm_parameters_by_path" "documents" {
  path            = var.path
  recursive       = true
  with_decryption = true
}

locals {
  found = zipmap(data.aws_ssm_parameters_by_path.documents.names, data.aws_ssm_parameters_by_path.documents.values)
  # The names are not secret; only the content is.
  names = [for name in nonsensitive(data.aws_ssm_parameters_by_path.documents.names) : trimprefix(name, "${var.path}/")]
  included = [
    for name in local.names : name
    if can(regex("^(?:${var.include_filter_regex})$", name)) &&
    (var.exclude_filter_regex == null || !can(regex("^(?:${coalesce(var.exclude_filter_regex, "-")})$", name)))
  ]
  # Two expressions, because a conditional one is sensitive if either of its results is.
  values = merge(
    { for name in local.included : name => jsondecode(local.found["${var.path}/${name}"]) if var.sensitive },
    { for name in local.included : name => jsondecode(nonsensitive(local.found["${var.path}/${name}"])) if !var.sensitive },
  )
}
