// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reads

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// honoured are the supported fields. All others are in the kind's table, which reference and
// warnings use: no field is ignored silently.
var honoured = []string{
	"approvePlan", "destroy", "backendConfig", "workspace", "vars", "varsFrom", "values", "interval", "retryInterval",
	"retryStrategy", "maxRetryInterval", "path", "sourceRef", "inline", "suspend", "force", "writeOutputsToSecret",
	"disableDriftDetection", "driftDetectionInterval", "destroyResourcesOnDeletion", "runnerTerminationGracePeriodSeconds",
	"upgradeOnInit", "refreshBeforeApply", "env", "envFrom", "identityTokens", "tool", "targets", "parallelism", "planOnly",
	"dependsOn", "remediation", "tfstate", "breakTheGlass", "cloud", "backendConfigsFrom", "tfVarsFiles", "fileMappings",
	"readInputsFromSecrets", "cliConfigSecretRef", "plan", "webhooks", "healthChecks", "enableInventory", "storeReadablePlan",
	"publishes", "consumes", "outputGrants",
}

func TestNoFieldIsIgnoredSilently(t *testing.T) {
	fields := reflect.TypeFor[infrav1.TerraformSpec]()
	for i := range fields.NumField() {
		name, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		support := infrav1.SupportOf("spec." + name)
		works := support.Support == infrav1.SupportWorks || support.When != ""
		if works != slices.Contains(honoured, name) {
			t.Errorf("spec.%s: the table says that it %s, the list of honoured fields has it: %v", name, support.Support, !works)
		}
		if works {
			continue
		}
		spec := &infrav1.TerraformSpec{}
		fill(t, reflect.ValueOf(spec).Elem().Field(i))
		refused := strings.Contains(refusedFields(spec), "spec."+name)
		warned := strings.Contains(strings.Join((Rules{}).IgnoredFields(spec), "\n"), "spec."+name)
		wantRefused, wantWarned := support.Support == infrav1.SupportRefused, support.Support == infrav1.SupportIgnored
		// The kind's package tests the fields about Pods.
		if refused != wantRefused || warned != wantWarned && support.Support != infrav1.SupportPods {
			t.Errorf("spec.%s (%s) is refused: %v, warned about: %v", name, support.Support, refused, warned)
		}
	}
	if refused, ignored := refusedFields(&infrav1.TerraformSpec{}), (Rules{}).IgnoredFields(&infrav1.TerraformSpec{}); refused != "" || ignored != nil {
		t.Errorf("an empty spec: refused %q, ignored %q", refused, ignored)
	}
}

func TestFieldsAboutPodsAreNamedTogether(t *testing.T) {
	spec := &infrav1.TerraformSpec{ServiceAccountName: "deployer", RunnerPodTemplate: &infrav1.RunnerPodTemplate{
		Spec: infrav1.RunnerPodSpec{Image: "example.org/runner", PriorityClassName: "high"}}}
	want := []string{"Runs are processes, not Pods. These fields have no effect: spec.serviceAccountName, " +
		"spec.runnerPodTemplate.spec.image and spec.runnerPodTemplate.spec.priorityClassName"}
	if diff := cmp.Diff(want, (Rules{}).IgnoredFields(spec)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// fill gives a field a value other than its zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.String:
		v.SetString("x")
	case reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(reflect.Zero(v.Type().Key()), reflect.Zero(v.Type().Elem()))
	case reflect.Struct:
		fill(t, v.Field(0))
	default:
		t.Fatalf("teach this test about %s", v.Kind())
	}
}

func TestRefusalsAreSentences(t *testing.T) {
	const want = "This version does not support spec.a, spec.b and spec.c, and ignoring it could do harm. No runs start"
	if got := refusal([]string{"spec.a", "spec.b", "spec.c"}); got != want {
		t.Errorf("refused with %q", got)
	}
	if got := refusal(nil); got != "" {
		t.Errorf("nothing is refused with %q", got)
	}
	spec := &infrav1.TerraformSpec{StoreReadablePlan: "none", ServiceAccountName: "tf-runner"}
	if got := (Rules{}).IgnoredFields(spec); got != nil {
		t.Errorf("common settings of tofu-controller's users cause warnings: %q", got)
	}
}

func TestWhatChangesTheConfiguration(t *testing.T) {
	type change func(*infrav1.Terraform, *Configuration)
	digest := func(c change) string {
		obj := stackObject()
		config := &Configuration{program: &Program{artifact: run.Artifact{Digest: "sha256:a", Revision: "r1"}, readModule: &readModule{module: &module.Module{}}},
			variables: map[string]run.Variable{"a": {Value: json.RawMessage(`1`)}, "b": {Value: json.RawMessage(`"x"`)}},
			env:       []run.EnvVar{{Name: "A", Value: "1"}, {Name: "B", Value: "2"}}}
		c(obj, config)
		return config.sum(obj)
	}
	before := digest(func(*infrav1.Terraform, *Configuration) {})
	for sentence, test := range map[string]struct {
		change change
		moves  bool
	}{
		"another archive":                      {func(_ *infrav1.Terraform, c *Configuration) { c.program.artifact.Digest = "sha256:b" }, true},
		"the same archive of another revision": {func(_ *infrav1.Terraform, c *Configuration) { c.program.artifact.Revision = "r2" }, false},
		"another path":                         {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Path = "live" }, true},
		"the same path, written otherwise":     {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Path = "./" }, false},
		"another workspace":                    {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Workspace = "blue" }, true},
		"the default workspace, named":         {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Workspace = "default" }, false},
		"another backend":                      {func(_ *infrav1.Terraform, c *Configuration) { c.backend.Override = "x" }, true},
		"another state": {func(t *infrav1.Terraform, _ *Configuration) {
			t.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "x"}
		}, true},
		"another value": {func(_ *infrav1.Terraform, c *Configuration) {
			c.variables["b"] = run.Variable{Value: json.RawMessage(`"y"`)}
		}, true},
		"a value more": {func(_ *infrav1.Terraform, c *Configuration) {
			c.variables["c"] = run.Variable{Value: json.RawMessage(`1`)}
		}, true},
		"another environment":                   {func(_ *infrav1.Terraform, c *Configuration) { c.env[0].Value = "9" }, true},
		"the same environment in another order": {func(_ *infrav1.Terraform, c *Configuration) { slices.Reverse(c.env) }, false},
		"targets":                               {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Targets = []string{"a.b"} }, true},
		"another tool":                          {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Tool = &infrav1.ToolSpec{Name: "terraform"} }, true},
		"destroy":                               {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Destroy = true }, true},
		"settings of the backend": {func(_ *infrav1.Terraform, c *Configuration) {
			c.backend.Settings = map[string]string{"bucket": "states"}
		}, true},
		"a file of values":        {func(_ *infrav1.Terraform, c *Configuration) { c.varFiles = []string{"prod.tfvars"} }, true},
		"a file":                  {func(_ *infrav1.Terraform, c *Configuration) { c.files = []run.File{{Path: "x"}} }, true},
		"the tool's own settings": {func(_ *infrav1.Terraform, c *Configuration) { c.cliConfig = []byte("x") }, true},
		"a text to mask":          {func(_ *infrav1.Terraform, c *Configuration) { c.secrets = []string{"x"} }, false},
		"how locks are treated": {func(_ *infrav1.Terraform, c *Configuration) {
			c.planLock, c.lockTimeout = !c.planLock, 1
		}, false},
		"a webhook": {func(t *infrav1.Terraform, _ *Configuration) {
			t.Spec.Webhooks = []infrav1.Webhook{{Stage: infrav1.WebhookPostPlanning}}
		}, true},
		"a webhook that is not asked": {func(t *infrav1.Terraform, _ *Configuration) {
			t.Spec.Webhooks = []infrav1.Webhook{{Stage: infrav1.WebhookPostPlanning, Enabled: new(bool)}}
		}, false},
		"how plans are kept":                      {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.StoreReadablePlan = "human" }, true},
		"that plans are not kept":                 {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.StoreReadablePlan = "none" }, false},
		"health checks":                           {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.HealthChecks = []infrav1.HealthCheck{{}} }, false},
		"an approval":                             {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.ApprovePlan = "auto" }, false},
		"suspend":                                 {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Suspend = true }, false},
		"another interval":                        {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Interval.Duration = 1 }, false},
		"how many things are changed at a time":   {func(t *infrav1.Terraform, _ *Configuration) { t.Spec.Parallelism = 3 }, false},
		"another stack with the very same of all": {func(t *infrav1.Terraform, _ *Configuration) { t.UID = "uid-2" }, true},
		"where outputs go, which no plan knows of": {func(t *infrav1.Terraform, _ *Configuration) {
			t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{}
		}, false},
	} {
		if moved := digest(test.change) != before; moved != test.moves {
			t.Errorf("%s: the digest moves: %v", sentence, moved)
		}
	}
}

func TestWhatAStackReads(t *testing.T) {
	secret := corev1.LocalObjectReference{Name: "s"}
	obj := stackObject(func(t *infrav1.Terraform) {
		t.Spec = infrav1.TerraformSpec{
			SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "live", Namespace: "flux-system"},
			VarsFrom:  []infrav1.VarsReference{{Kind: "ConfigMap", Name: "vars"}},
			Vars: []infrav1.Variable{{Name: "plain", Value: &apiextensionsv1.JSON{Raw: []byte(`1`)}},
				{Name: "a", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: secret}}}},
			Env: []corev1.EnvVar{{Name: "B", ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: "c"}}}}},
			EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "es"}}},
				{ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "ec"}}}},
			BackendConfigsFrom:    []infrav1.BackendConfigsReference{{Kind: "Secret", Name: "backend"}},
			ReadInputsFromSecrets: []infrav1.ReadInputsFromSecretSpec{{Name: "outputs"}},
			FileMappings:          []infrav1.FileMapping{{SecretRef: meta.SecretKeyReference{Name: "file"}}},
			CliConfigSecretRef:    &corev1.SecretReference{Name: "tfrc", Namespace: "platform"},
			RunnerPodTemplate: &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{
				EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: "pod"}}}}}},
		}
	})
	want := []string{"GitRepository/flux-system/live", "ConfigMap/team/vars", "Secret/team/backend", "Secret/team/outputs", "Secret/team/file", "Secret/platform/tfrc",
		"Secret/team/s", "ConfigMap/team/c", "Secret/team/pod", "Secret/team/es", "ConfigMap/team/ec"}
	if diff := cmp.Diff(want, References(obj)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	obj.Spec.SourceRef.Namespace = ""
	if got := References(obj)[0]; got != "GitRepository/team/live" {
		t.Errorf("a source without a namespace is %s", got)
	}
}

func TestRunsAreToldWhichPartTheyRead(t *testing.T) {
	c := &Configuration{program: &Program{}}
	c.part = part{digest: "sha256:p", dirs: []string{"app", "modules/m"}, files: []string{"values.tfvars"}}
	var spec run.Spec
	c.Into(&spec)
	want := &run.Part{Paths: []string{"app", "modules/m", "values.tfvars"}, Digest: "sha256:p"}
	if diff := cmp.Diff(want, spec.Part); diff != "" {
		t.Error(diff)
	}
	c.part = part{why: "it reads everything", dirs: []string{"app"}}
	if c.Into(&spec); spec.Part != nil {
		t.Errorf("%+v", spec.Part)
	}
}

func TestOutputsOfDependenciesArePartOfTheConfiguration(t *testing.T) {
	digest := func(outputs ...string) string {
		c := &Configuration{Digest: "sha256:a"}
		c.DependOn(outputs)
		return c.Digest
	}
	if digest() != "sha256:a" {
		t.Error("without dependencies the digest is another one")
	}
	if digest("t/vpc=1") == digest("t/vpc=2") || digest("t/vpc=1") == digest() {
		t.Error("the digest does not follow the outputs")
	}
}

func TestProvidersOfARootModule(t *testing.T) {
	m := &module.Module{RequiredProviders: map[string]module.Provider{"aws": {Source: "hashicorp/aws"}, "null": {}, "box": {Source: "registry.example.com/acme/box"}}}
	c := &Configuration{program: &Program{readModule: &readModule{module: m}}}
	got := slices.Sorted(slices.Values(c.RequiredProviders()))
	if diff := cmp.Diff([]string{"hashicorp/aws", "hashicorp/null", "registry.example.com/acme/box"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
