// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package crd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"sigs.k8s.io/yaml"
)

func TestTerraformHasTheNamesAndColumnsPeopleKnow(t *testing.T) {
	d := load(t, terraforms)
	version := d.version
	type facts struct {
		Group, Kind, Version string
		Scope                apiextensionsv1.ResourceScope
		ShortNames           []string
		Served, Storage      bool
		HasStatus            bool
		Columns              []string
	}
	got := facts{
		Group: d.Spec.Group, Kind: d.Spec.Names.Kind, Version: version.Name, Scope: d.Spec.Scope,
		ShortNames: d.Spec.Names.ShortNames, Served: version.Served, Storage: version.Storage,
		HasStatus: version.Subresources != nil && version.Subresources.Status != nil,
	}
	for _, c := range version.AdditionalPrinterColumns {
		got.Columns = append(got.Columns, strings.Repeat("wide ", int(c.Priority))+c.Name+" "+c.Type+" "+c.JSONPath)
	}
	want := facts{
		Group: "infra.contrib.fluxcd.io", Kind: "Terraform", Version: "v1alpha2", Scope: apiextensionsv1.NamespaceScoped,
		ShortNames: []string{"tf"}, Served: true, Storage: true, HasStatus: true,
		Columns: []string{
			`Ready string .status.conditions[?(@.type=="Ready")].status`,
			`Status string .status.summary`,
			`Age date .metadata.creationTimestamp`,
			`wide Plan string .status.plan.summary`,
			`wide Revision string .status.lastAppliedRevision`,
			`wide Planned string .status.lastPlannedRevision`,
			`wide Message string .status.conditions[?(@.type=="Ready")].message`,
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("definition (-want +got):\n%s", diff)
	}
}

func TestTheSmallestStackGetsTheDefaultsOfTofuController(t *testing.T) {
	d := load(t, terraforms)
	object := decode(t, []byte(`
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: small, namespace: default}
spec:
  interval: 10m
  sourceRef: {kind: GitRepository, name: code}
  tfstate: {}
  healthChecks: [{name: web, type: http, url: "https://example.org"}]
  webhooks: [{url: "https://example.org", testExpression: "${{ .passed }}"}]
`))
	if unknown, errs := d.admit(t, object); len(unknown) != 0 || len(errs) != 0 {
		t.Fatalf("unknown fields %v, errors %v", unknown, errs)
	}
	want := decode(t, []byte(`
apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: small, namespace: default}
spec:
  interval: 10m
  sourceRef: {kind: GitRepository, name: code}
  tfstate: {forceUnlock: "no", lockTimeout: 0s}
  healthChecks: [{name: web, type: http, url: "https://example.org", timeout: 20s}]
  webhooks:
  - url: https://example.org
    testExpression: ${{ .passed }}
    stage: post-planning
    enabled: true
    payloadType: SpecAndPlan
  alwaysCleanupRunnerPod: true
  destroyResourcesOnDeletion: false
  disableDriftDetection: false
  force: false
  parallelism: 0
  refreshBeforeApply: false
  retryStrategy: StaticInterval
  runnerTerminationGracePeriodSeconds: 30
  serviceAccountName: tf-runner
  storeReadablePlan: none
  upgradeOnInit: true
  workspace: default
status: {observedGeneration: -1}
`))
	// Numbers are compared as YAML writes them: defaults are int64, what the test reads is float64.
	if diff := cmp.Diff(toYAML(t, want), toYAML(t, object)); diff != "" {
		t.Errorf("with defaults (-want +got):\n%s", diff)
	}
}

func TestWhatAStackMaySay(t *testing.T) {
	d := load(t, terraforms)
	for sentence, test := range map[string]struct {
		spec string
		// want is a part of the error; empty when there must be none.
		want string
	}{
		"an inline program needs no source":             {spec: `{interval: 1h, inline: {main.tf: ""}}`},
		"values with hcl need no source":                {spec: `{interval: 1h, values: {hcl: ""}}`},
		"values may be any JSON":                        {spec: `{interval: 1h, values: [1, two, {three: 3}]}`},
		"a variable may be any JSON":                    {spec: `{interval: 1h, vars: [{name: a, value: {b: [1]}}, {name: c, value: 1.5}]}`},
		"the source may be an ExternalArtifact":         {spec: `{interval: 1h, sourceRef: {kind: ExternalArtifact, name: a}}`},
		"the source is of a kind that there is":         {spec: `{interval: 1h, sourceRef: {kind: HelmChart, name: a}}`, want: "spec.sourceRef.kind: Unsupported value"},
		"the interval is required":                      {spec: `{inline: {main.tf: ""}}`, want: "spec.interval: Required value"},
		"intervals may have several units and decimals": {spec: `{interval: 1h30m0.5s, retryInterval: 100ms, driftDetectionInterval: "0"}`},
		"an interval in words is refused":               {spec: `{interval: 5 minutes}`, want: "spec.interval: Invalid value"},
		"an interval without a unit is refused":         {spec: `{interval: "60"}`, want: "spec.interval: Invalid value"},
		"an interval that overflows is refused":         {spec: `{interval: 1h, retryInterval: 9999999h}`, want: "spec.retryInterval: Invalid value"},
		"a negative interval is refused":                {spec: `{interval: 1h, maxRetryInterval: -1h}`, want: "spec.maxRetryInterval: Invalid value"},
		"an empty inline program is refused":            {spec: `{interval: 1h, inline: {}}`, want: "spec.inline: Invalid value"},
		"the environment comes from Secrets":            {spec: `{interval: 1h, env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]}`},
		"the environment comes from ConfigMaps":         {spec: `{interval: 1h, env: [{name: A, value: b}], envFrom: [{prefix: P_, configMapRef: {name: c}}]}`},
		"the environment does not come from a Pod":      {spec: `{interval: 1h, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}`, want: "a stack has no Pod"},
		"a name of the environment stands once":         {spec: `{interval: 1h, env: [{name: A, value: b}, {name: A, value: c}]}`, want: "spec.env[1]: Duplicate value"},
		"the tool is one that there is":                 {spec: `{interval: 1h, tool: {name: pulumi}}`, want: "spec.tool.name: Unsupported value"},
		"readable plans have a format":                  {spec: `{interval: 1h, storeReadablePlan: xml}`, want: "spec.storeReadablePlan: Unsupported value"},
		"retries have a strategy":                       {spec: `{interval: 1h, retryStrategy: Never}`, want: "spec.retryStrategy: Unsupported value"},
		"locks are broken with yes, no or auto":         {spec: `{interval: 1h, tfstate: {forceUnlock: always}}`, want: "spec.tfstate.forceUnlock: Unsupported value"},
		"files are put where there is a place":          {spec: `{interval: 1h, fileMappings: [{location: root, path: a, secretRef: {name: s}}]}`, want: "spec.fileMappings[0].location: Unsupported value"},
		"variables come from Secrets and ConfigMaps":    {spec: `{interval: 1h, varsFrom: [{kind: Pod, name: a}]}`, want: "spec.varsFrom[0].kind: Unsupported value"},
	} {
		t.Run(sentence, func(t *testing.T) {
			object := decode(t, []byte("metadata: {name: a, namespace: b}\nspec: "+test.spec))
			unknown, errs := d.admit(t, object)
			if len(unknown) != 0 {
				t.Errorf("unknown fields %v", unknown)
			}
			var got string
			if err := errs.ToAggregate(); err != nil {
				got = err.Error()
			}
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("error is %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestUnknownFieldsAreNamed(t *testing.T) {
	d := load(t, terraforms)
	unknown, _ := d.admit(t, decode(t, []byte(`
metadata: {name: a, namespace: b}
spec: {interval: 1h, approvPlan: auto, sourceRef: {kind: Bucket, name: a, nmespace: c}, values: {any: thing}}
`)))
	if diff := cmp.Diff([]string{"spec.approvPlan", "spec.sourceRef.nmespace"}, unknown); diff != "" {
		t.Errorf("unknown fields (-want +got):\n%s", diff)
	}
}

func toYAML(t *testing.T, v any) string {
	t.Helper()
	data, err := yaml.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
