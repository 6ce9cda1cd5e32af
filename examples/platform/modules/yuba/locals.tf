locals {
  # Rendered from the chart, see the README. A file has documents that lines with "---" separate.
  texts = flatten([for f in sort(tolist(fileset(path.module, "manifests/*.yaml"))) : split("\n---\n", "\n${replace(file("${path.module}/${f}"), "\r\n", "\n")}\n")])
  # Comments are not objects.
  documents = [for text in local.texts : text if anytrue([for line in split("\n", text) : !can(regex("^\\s*(#.*|---\\s*)?$", line))])]
  unread    = [for text in local.documents : text if !can("${yamldecode(text).kind}${yamldecode(text).metadata.name}")]
  objects = { for text in local.documents : join("/", compact([
    yamldecode(text).kind, try(yamldecode(text).metadata.namespace, ""), yamldecode(text).metadata.name,
  ])) => text if !contains(local.unread, text) }
  kinds = { for key, text in local.objects : key => text if startswith(key, "CustomResourceDefinition/") }
  rest  = { for key, text in local.objects : key => text if !startswith(key, "CustomResourceDefinition/") && key != "Namespace/${var.namespace}" }
  # A removal of the component leaves these in the cluster: they have Yuba's data.
  kept = [for key, text in local.rest : key if startswith(key, "PersistentVolumeClaim/") || startswith(key, "Namespace/")
  || try(yamldecode(text).metadata.annotations["helm.sh/resource-policy"], "") == "keep"]
}
