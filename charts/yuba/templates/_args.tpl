{{- /* The arguments of the controllers. */ -}}
{{- define "yuba.args" -}}
- controller
# The root of a volume belongs to root, and Yuba's directory must be its own.
- --data-dir=/var/lib/yuba/data
- --service={{ .Release.Namespace }}/{{ include "yuba.fullname" . }}
- --leader-elect
- --keys-secret={{ .Release.Namespace }}/{{ include "yuba.keysSecret" . }}
- --allow-non-loopback
- --content-address=0.0.0.0:7444
- --health-address=0.0.0.0:7446
- --runner-address=0.0.0.0:7445
- --runner-image={{ include "yuba.image" (dict "root" . "image" .Values.runner.image) }}
- --runner-pull-policy={{ .Values.runner.image.pullPolicy }}
- --runner-idle={{ .Values.runner.idle }}
{{- range .Values.runner.imagePullSecrets }}
- --runner-pull-secret={{ . }}
{{- end }}
{{- with (.Values.runner.resources).requests }}
- --runner-requests={{ include "yuba.quantities" . }}
{{- end }}
{{- with (.Values.runner.resources).limits }}
- --runner-limits={{ include "yuba.quantities" . }}
{{- end }}
- --concurrency={{ .Values.concurrency }}
- --log-format={{ eq .Values.logEncoding "json" | ternary "json" "text" }}
{{- if has .Values.logLevel (list "debug" "trace") }}
- --verbose
{{- end }}
{{- with include "yuba.namespaces" . | fromJsonArray }}
- --namespaces={{ join "," . }}
{{- end }}
{{- with .Values.blob.url }}
- --blob-url={{ . }}
{{- else }}
{{- if not .Values.persistence.enabled }}
- --volatile-blobs
{{- end }}
{{- end }}
{{- if .Values.allowCrossNamespaceRefs }}
- --allow-cross-namespace
{{- end }}
{{- if .Values.allowBreakTheGlass }}
- --allow-break-the-glass
{{- end }}
{{- if .Values.sources.enabled }}
- --gitops
{{- with .Values.sources.identities }}
- --source-identities={{ join "," . }}
{{- end }}
{{- else if .Values.eventsAddress }}
- --events-addr={{ .Values.eventsAddress }}
{{- end }}
{{- if include "yuba.http" . }}
- --http-address=0.0.0.0:7080
{{- end }}
{{- if .Values.web.enabled }}
{{- include "yuba.args.web" . }}
{{- end }}
{{- if .Values.registry.enabled }}
- --registry-address=0.0.0.0:7447
{{- if .Values.registry.tlsSecret }}
- --registry-tls-cert=/etc/yuba/registry-tls/tls.crt
- --registry-tls-key=/etc/yuba/registry-tls/tls.key
{{- else if .Values.registry.ingress.enabled }}
- --registry-plain-http
{{- end }}
{{- if .Values.registry.anonymousRead }}
- --registry-anonymous-read
{{- end }}
{{- else }}
- --registry-address=off
{{- end }}
- --registry-host={{ default (printf "%s.%s.svc:7447" (include "yuba.fullname" .) .Release.Namespace) .Values.registry.host }}
{{- with .Values.registry.store }}
- --registry-store={{ . }}
{{- end }}
{{- with .Values.callHome.url }}
- --call-home-address=0.0.0.0:7448
- --call-home-url={{ . }}
{{- end }}
{{- range .Values.tools.allow }}
- {{ printf "--tools-allow=%s" . | quote }}
{{- end }}
{{- with .Values.tools.url }}
- --tools-url={{ . }}
{{- end }}
{{- with .Values.tools.terraformURL }}
- --tools-terraform-url={{ . }}
{{- end }}
{{- if .Values.metrics.enabled }}
- --metrics-address=0.0.0.0:7090
{{- end }}
{{- range .Values.extraArgs }}
- {{ . | quote }}
{{- end }}
{{- end }}

{{- /* The arguments of the web page. */ -}}
{{- define "yuba.args.web" }}
- --web
- --web-session={{ .Values.web.session }}
{{- with .Values.web.url }}
- --web-url={{ . }}
{{- end }}
{{- if .Values.web.anonymous }}
- --web-anonymous
{{- end }}
{{- if .Values.web.allowMasters }}
- --web-allow-masters
{{- end }}
{{- with .Values.web.oidc }}
{{- if .issuer }}
- --web-oidc-issuer={{ .issuer }}
- {{ printf "--web-oidc-client-id=%s" .clientID | quote }}
{{- if .clientSecret }}
- --web-oidc-client-secret-file=/etc/yuba/oidc/client-secret
{{- end }}
- {{ printf "--web-oidc-scopes=%s" (join "," .scopes) | quote }}
- {{ printf "--web-oidc-username-claim=%s" .usernameClaim | quote }}
{{- with .usernamePrefix }}
- {{ printf "--web-oidc-username-prefix=%s" . | quote }}
{{- end }}
{{- with .groupsClaim }}
- {{ printf "--web-oidc-groups-claim=%s" . | quote }}
{{- end }}
{{- with .groupsPrefix }}
- {{ printf "--web-oidc-groups-prefix=%s" . | quote }}
{{- end }}
{{- if .caConfigMap }}
- --web-oidc-ca-file=/etc/yuba/oidc-ca/ca.crt
{{- end }}
{{- end }}
{{- end }}
{{- end }}

{{- define "yuba.scheduling" -}}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- end }}
