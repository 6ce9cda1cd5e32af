{{- /* The values of tofu-controller's chart that are set and mean nothing here, with the reason, as a JSON array. */ -}}
{{- define "yuba.unused" -}}
{{- $known := dict
  "certRotationCheckFrequency" "Yuba renews its certificates itself"
  "certValidityDuration" "Yuba renews its certificates itself"
  "caCertValidityDuration" "Yuba renews its certificates itself"
  "kubeAPIQPS" "the API server limits requests, by priority and fairness"
  "kubeAPIBurst" "the API server limits requests, by priority and fairness"
  "clusterDomain" "runners connect to the Service"
  "usePodSubdomainResolution" "runners connect to the Service"
  "usePriorityQueue" "Yuba's queue always has priorities"
  "awsPackage" "Yuba installs no packages"
  "branchPlanner" "Yuba has no branch planner"
  "eksSecurityGroupPolicy" "create the SecurityGroupPolicy yourself; runner Pods have the label app.kubernetes.io/name=yuba-runner"
  "runner.grpc" "runners do not use gRPC"
  "runner.creationTimeout" "a stack's condition Ready says at once what keeps a Pod from starting"
  "runner.additionalDeploymentLabels" "runners have no Deployment" }}
{{- $unused := list }}
{{- range $name, $why := $known }}
{{- $value := $.Values }}
{{- range splitList "." $name }}
{{- $value = ternary (get (default dict $value) .) nil (kindIs "map" $value) }}
{{- end }}
{{- if not (kindIs "invalid" $value) }}
{{- if ne (toString $value) "" }}
{{- $unused = append $unused (printf "%s: %s" $name $why) }}
{{- end }}
{{- end }}
{{- end }}
{{- $unused | toJson }}
{{- end }}
