{{- define "yuba.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- /* Short, because the names of other objects append to it. */ -}}
{{- define "yuba.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "yuba.name" .) .Release.Name }}
{{- .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "yuba.name" .) | trunc 50 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{- /* Cluster-scoped objects of releases in several namespaces must not collide. */ -}}
{{- define "yuba.clusterName" -}}
{{- if eq .Release.Namespace "yuba-system" }}
{{- include "yuba.fullname" . }}
{{- else }}
{{- printf "%s-%s" .Release.Namespace (include "yuba.fullname" .) }}
{{- end }}
{{- end }}

{{- define "yuba.selectorLabels" -}}
app.kubernetes.io/name: {{ include "yuba.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "yuba.labels" -}}
{{ include "yuba.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "yuba.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "yuba.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "yuba.image" -}}
{{- if .image.digest }}
{{- printf "%s@%s" .image.repository .image.digest }}
{{- else }}
{{- printf "%s:%s" .image.repository (default .root.Chart.AppVersion .image.tag) }}
{{- end }}
{{- end }}

{{- /* The namespace of the Lease, which all Yubas of an API share. */ -}}
{{- define "yuba.systemNamespace" -}}yuba-system{{- end }}

{{- define "yuba.keysSecret" -}}
{{- default (printf "%s-keys" (include "yuba.fullname" .)) .Values.keys.secretName }}
{{- end }}

{{- define "yuba.runner.serviceAccountName" -}}
{{- default "tf-runner" .Values.runner.serviceAccount.name }}
{{- end }}

{{- /* The namespaces with runners, as a JSON array. */ -}}
{{- define "yuba.runner.namespaces" -}}
{{- prepend .Values.runner.serviceAccount.allowedNamespaces .Release.Namespace | uniq | toJson }}
{{- end }}

{{- /* The watched namespaces, as a JSON array; empty for all. */ -}}
{{- define "yuba.namespaces" -}}
{{- if .Values.watchNamespaces }}
{{- .Values.watchNamespaces | uniq | toJson }}
{{- else if .Values.watchAllNamespaces }}
{{- list | toJson }}
{{- else }}
{{- list .Release.Namespace | toJson }}
{{- end }}
{{- end }}

{{- /* Resources as NAME=QUANTITY,... */ -}}
{{- define "yuba.quantities" -}}
{{- $pairs := list }}
{{- range $name, $quantity := . }}
{{- $pairs = append $pairs (printf "%s=%v" $name $quantity) }}
{{- end }}
{{- join "," $pairs }}
{{- end }}

{{- define "yuba.runnerLabels" -}}
app.kubernetes.io/name: yuba-runner
app.kubernetes.io/managed-by: yuba
{{- end }}

{{- /* Whether the port for browsers and webhooks is served. */ -}}
{{- define "yuba.http" -}}
{{- if or .Values.sources.enabled .Values.web.enabled }}true{{ end }}
{{- end }}

{{- /* Whether the data directory is on a volume. */ -}}
{{- define "yuba.hasVolume" -}}
{{- if and .Values.persistence.enabled (not .Values.blob.url) }}true{{ end }}
{{- end }}

{{- /* The blocked addresses of a block, as a JSON array; empty if there are none. An exception must be part of its block, so
blocks other than all addresses have none. */ -}}
{{- define "yuba.except" -}}
{{- $except := list }}
{{- $cidr := .cidr }}
{{- range .blocked }}
{{- if and (has $cidr (list "0.0.0.0/0" "::/0")) (eq (contains ":" $cidr) (contains ":" .)) }}
{{- $except = append $except . }}
{{- end }}
{{- end }}
{{- with $except }}{{ toJson . }}{{ end }}
{{- end }}
