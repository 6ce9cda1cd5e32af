{{- /* Combinations that the schema cannot refuse. */ -}}
{{- define "yuba.checks" -}}
{{- if or (hasSuffix "/tofu-controller" .Values.image.repository) (hasSuffix "/tf-runner" .Values.runner.image.repository) }}
{{- fail "image and runner.image are those of tofu-controller. Remove both from your values" }}
{{- end }}
{{- if and (gt (int .Values.replicaCount) 1) (not .Values.blob.url) }}
{{- fail "replicaCount above 1 needs blob.url: replicas share archives, logs and plans in a bucket. Set blob.url, or replicaCount=1" }}
{{- end }}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) (not (include "yuba.http" .)) }}
{{- fail "ingress and httpRoute need web.enabled or sources.enabled: they lead to the web page, and to the webhooks of Yuba's own sources. With Flux, expose its notification-controller" }}
{{- end }}
{{- if and (or .Values.ingress.enabled .Values.httpRoute.enabled) .Values.web.enabled (not .Values.web.url) }}
{{- fail "an Ingress or a route to the web page needs web.url: the page answers only to its own name, such as https://yuba.example.com" }}
{{- end }}
{{- if and .Values.callHome.service.nodePort (eq .Values.callHome.service.type "ClusterIP") }}
{{- fail "callHome.service.nodePort needs callHome.service.type NodePort or LoadBalancer" }}
{{- end }}
{{- if and .Values.web.oidc.issuer (not .Values.web.oidc.clientID) }}
{{- fail "web.oidc.issuer needs web.oidc.clientID" }}
{{- end }}
{{- if and .Values.metrics.serviceMonitor.enabled (not .Values.metrics.enabled) }}
{{- fail "metrics.serviceMonitor.enabled needs metrics.enabled=true" }}
{{- end }}
{{- if and .Values.ingress.enabled (not .Values.ingress.hosts) }}
{{- fail "ingress.enabled needs ingress.hosts" }}
{{- end }}
{{- if and .Values.httpRoute.enabled (not .Values.httpRoute.parentRefs) }}
{{- fail "httpRoute.enabled needs httpRoute.parentRefs" }}
{{- end }}
{{- end }}
