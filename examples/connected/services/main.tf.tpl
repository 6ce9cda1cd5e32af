{{- range .Values.services }}
resource "terraform_data" "{{ .name }}" {
  input = var.subnets["{{ .zone }}"]
}

output "{{ .name }}" {
  value = terraform_data.{{ .name }}.output
}
{{ end }}
