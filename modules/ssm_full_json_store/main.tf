locals {
  json = { for name, data in var.documents : name => jsonencode(data) }
  # SSM counts bytes. Four characters of base64 are three bytes.
  bytes = { for name, json in local.json : name => length(base64encode(json)) / 4 * 3 - length(regexall("=", base64encode(json))) }
}

resource "aws_ssm_parameter" "document" {
  for_each = toset(keys(var.documents))

  name   = "${var.path}/${each.key}"
  type   = var.type
  key_id = var.type == "SecureString" ? var.key_id : null
  value  = local.json[each.key]
  tags   = var.tags
  # Standard up to 4 KB, advanced (which AWS charges for) above.
  tier = "Intelligent-Tiering"

  lifecycle {
    precondition {
      condition     = local.bytes[each.key] <= 8192
      error_message = "The document ${var.path}/${each.key} has ${local.bytes[each.key]} bytes, and a parameter has at most 8192. Use the module s3_json_store, or write less."
    }
    precondition {
      condition     = !strcontains(local.json[each.key], "{{")
      error_message = "The document ${var.path}/${each.key} contains {{, which SSM refuses. Encode the value, for example with base64encode()."
    }
  }
}

# What this stack writes is not read in the same run: the plan would not know the documents of others either.
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
