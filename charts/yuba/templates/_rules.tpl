{{- /* The permissions of the controllers in a namespace. */ -}}
{{- define "yuba.rules.namespaced" -}}
# Stacks. Tenants create and delete them.
- apiGroups: [infra.contrib.fluxcd.io]
  resources: [terraforms]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [infra.contrib.fluxcd.io]
  resources: [terraforms/status]
  verbs: [get, update, patch]
- apiGroups: [infra.contrib.fluxcd.io]
  resources: [terraforms/finalizers]
  verbs: [update]
# States, outputs and plans are in Secrets, readable plans in ConfigMaps. Stacks read variables and credentials from both.
- apiGroups: [""]
  resources: [secrets, configmaps]
  verbs: [get, list, watch, create, update, patch, delete]
# Locks of states.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update, delete]
- apiGroups: [events.k8s.io, ""]
  resources: [events]
  verbs: [create, patch]
# Runners.
- apiGroups: [""]
  resources: [pods]
  verbs: [get, list, watch, create, delete]
# Sources. "yuba push" creates ExternalArtifacts.
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [gitrepositories, ocirepositories, buckets, externalartifacts]
  verbs: [get, list, watch]
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [externalartifacts]
  verbs: [create, update, patch]
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [externalartifacts/status]
  verbs: [get, update, patch]
# Tags of git repositories become versions of modules.
- apiGroups: [yuba.dev]
  resources: [modulesources]
  verbs: [get, list, watch]
- apiGroups: [yuba.dev]
  resources: [modulesources/status]
  verbs: [get, update, patch]
# Contracts between stacks, and bridges to other stores of them.
- apiGroups: [yuba.dev]
  resources: [contracts]
  verbs: [get, list, watch]
- apiGroups: [yuba.dev]
  resources: [contractbridges]
  verbs: [get, list, watch, update, patch]
- apiGroups: [yuba.dev]
  resources: [contracts/status, contractbridges/status]
  verbs: [get, update, patch]
# What policies of a namespace ask for.
- apiGroups: [yuba.dev]
  resources: [policies]
  verbs: [get, list, watch]
- apiGroups: [yuba.dev]
  resources: [policies/status]
  verbs: [get, update, patch]
# Tenants. What their templates create needs rbac.extraRules.
- apiGroups: [operator.kubernetes-tenants.org]
  resources: [tenantregistries, tenanttemplates, tenants]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [operator.kubernetes-tenants.org]
  resources: [tenantregistries/status, tenanttemplates/status, tenants/status]
  verbs: [get, update, patch]
- apiGroups: [operator.kubernetes-tenants.org]
  resources: [tenantregistries/finalizers, tenanttemplates/finalizers, tenants/finalizers]
  verbs: [update]
{{- if .Values.sources.enabled }}
# Yuba's controllers instead of Flux's.
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [gitrepositories, ocirepositories, buckets]
  verbs: [update, patch]
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [helmrepositories, helmcharts]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [source.toolkit.fluxcd.io]
  resources: [gitrepositories/status, ocirepositories/status, buckets/status, helmrepositories/status, helmcharts/status]
  verbs: [get, update, patch]
- apiGroups: [helm.toolkit.fluxcd.io]
  resources: [helmreleases]
  verbs: [get, list, watch, update, patch]
- apiGroups: [helm.toolkit.fluxcd.io]
  resources: [helmreleases/status]
  verbs: [get, update, patch]
- apiGroups: [helm.toolkit.fluxcd.io]
  resources: [helmreleases/finalizers]
  verbs: [update]
- apiGroups: [kustomize.toolkit.fluxcd.io]
  resources: [kustomizations]
  verbs: [get, list, watch, update, patch]
- apiGroups: [kustomize.toolkit.fluxcd.io]
  resources: [kustomizations/status]
  verbs: [get, update, patch]
- apiGroups: [kustomize.toolkit.fluxcd.io]
  resources: [kustomizations/finalizers]
  verbs: [update]
- apiGroups: [image.toolkit.fluxcd.io]
  resources: [imagerepositories, imagepolicies, imageupdateautomations]
  verbs: [get, list, watch, update, patch]
- apiGroups: [image.toolkit.fluxcd.io]
  resources: [imagerepositories/status, imagepolicies/status, imageupdateautomations/status]
  verbs: [get, update, patch]
- apiGroups: [notification.toolkit.fluxcd.io]
  resources: [receivers, providers, alerts]
  verbs: [get, list, watch, update, patch]
- apiGroups: [notification.toolkit.fluxcd.io]
  resources: [receivers/status, providers/status, alerts/status]
  verbs: [get, update, patch]
# Kustomizations and HelmReleases are applied with the permissions of their service account, in other clusters with its token.
- apiGroups: [""]
  resources: [serviceaccounts]
  verbs: [get, impersonate]
- apiGroups: [""]
  resources: [serviceaccounts/token]
  verbs: [create]
{{- end }}
{{- if and .Values.web.enabled (not .Values.sources.enabled) }}
# The web page shows them, to people who may see them.
- apiGroups: [kustomize.toolkit.fluxcd.io]
  resources: [kustomizations]
  verbs: [get, list, watch]
{{- end }}
{{- with .Values.rbac.extraRules }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- /* What belongs to no namespace. */ -}}
{{- define "yuba.rules.cluster" -}}
# Who runs a Pod, and who may read logs, plans and states.
- apiGroups: [authentication.k8s.io]
  resources: [tokenreviews]
  verbs: [create]
- apiGroups: [authorization.k8s.io]
  resources: [subjectaccessreviews]
  verbs: [create]
# The API server passes requests for those on.
- apiGroups: [apiregistration.k8s.io]
  resources: [apiservices]
  resourceNames: [v1alpha1.content.yuba.dev]
  verbs: [get, update]
# Whether the API has Yuba's version of the kinds.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [get, list]
{{- if not (include "yuba.namespaces" . | fromJsonArray) }}
# The kinds that ApplicationDefinitions declare, and their instances. Nobody knows the names of kinds before.
- apiGroups: [apiextensions.k8s.io]
  resources: [customresourcedefinitions]
  verbs: [watch, create, patch, delete]
- apiGroups: [cozystack.io]
  resources: [applicationdefinitions]
  verbs: [get, list, watch, update, patch]
- apiGroups: [cozystack.io]
  resources: [applicationdefinitions/status, applicationdefinitions/finalizers]
  verbs: [get, update, patch]
- apiGroups: [apps.cozystack.io]
  resources: ["*"]
  verbs: [get, list, watch, create, update, patch, delete]
# What instances with Helm become.
- apiGroups: [helm.toolkit.fluxcd.io]
  resources: [helmreleases]
  verbs: [get, list, watch, create, update, patch, delete]
# Whether another API server serves application kinds.
- apiGroups: [apiregistration.k8s.io]
  resources: [apiservices]
  resourceNames: [v1alpha1.apps.cozystack.io]
  verbs: [get]
{{- end }}
# The namespace yuba-system, and the identity of the cluster.
- apiGroups: [""]
  resources: [namespaces]
  verbs: [get, list, watch, create]
- apiGroups: [yuba.dev]
  resources: [circuitbreakers]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [yuba.dev]
  resources: [circuitbreakers/status]
  verbs: [get, update, patch]
- apiGroups: [yuba.dev]
  resources: [clusterpolicies]
  verbs: [get, list, watch]
- apiGroups: [yuba.dev]
  resources: [clusterpolicies/status]
  verbs: [get, update, patch]
# Whether a tofu-controller or a Tenant Operator is running.
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [list]
{{- if .Values.web.enabled }}
# The web page reads and does everything as the person who asks. Only the API server says what they may.
- apiGroups: [""]
  resources: [users, groups, serviceaccounts]
  verbs: [impersonate]
# Their UID, and what else the API server knows of them. Roles cannot name all keys of userextras, and nothing else in
# this group can be impersonated.
- apiGroups: [authentication.k8s.io]
  resources: ["*"]
  verbs: [impersonate]
# Figures of each minute, for its plots.
- apiGroups: [content.yuba.dev]
  resources: [figures]
  verbs: [get, list]
{{- end }}
{{- end }}
