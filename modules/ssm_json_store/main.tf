locals {
  writes = var.name != null
  reads  = var.include_filter_regex != null
  json   = jsonencode(merge(var.data, { for key, value in { cluster = var.cluster } : key => value if value != null }))
  # SSM counts bytes. Four characters of base64 are three bytes.
  bytes = length(base64encode(local.json)) / 4 * 3 - length(regexall("=", base64encode(local.json)))
}

resource "aws_ssm_parameter" "document" {
  count = local.writes ? 1 : 0

  name   = "${var.path}/${var.name}"
  type   = var.type
  key_id = var.type == "SecureString" ? var.key_id : null
  value  = local.json
  tags   = var.tags
  # Standard up to 4 KB, advanced (which AWS charges for) above.
  tier = "Intelligent-Tiering"

  lifecycle {
    precondition {
      condition     = local.bytes <= 8192
      error_message = "The document ${var.path}/${var.name} has ${local.bytes} bytes, and a parameter has at most 8192. Use the module s3_json_store, or write less."
    }
    precondition {
      condition     = !strcontains(local.json, "{{")
      error_message = "The document ${var.path}/${var.name} contains {{, which SSM refuses. Encode the value, for example with base64encode()."
    }
  }
}

data "aws_ssm_parameters_by_path" "documents" {
  count = local.reads ? 1 : 0

  path            = var.path
  recursive       = false
  with_decryption = true
}

locals {
  found = local.reads ? zipmap(data.aws_ssm_parameters_by_path.documents[0].names, data.aws_ssm_parameters_by_path.documents[0].values) : {}
  # The names are not secret; only the content is.
  included = [
    for name in try(nonsensitive(data.aws_ssm_parameters_by_path.documents[0].names), []) : trimprefix(name, "${var.path}/")
    if can(regex("^(?:${var.include_filter_regex})$", trimprefix(name, "${var.path}/")))
  ]
  # Two expressions, because a conditional one is sensitive if either of its results is.
  values = merge(
    { for name in local.included : name => jsondecode(local.found["${var.path}/${name}"]) if var.sensitive },
    { for name in local.included : name => jsondecode(nonsensitive(local.found["${var.path}/${name}"])) if !var.sensitive },
  )
}
