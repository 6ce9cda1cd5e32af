// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// stack is the stack team-a/network with a spec.
func stack(spec TerraformSpec) *Terraform {
	return &Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "network"}, Spec: spec}
}

func jsonOf(text string) *apiextensionsv1.JSON { return &apiextensionsv1.JSON{Raw: []byte(text)} }

func minutes(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Minute}
}

func TestNamesOfTheState(t *testing.T) {
	type names struct{ Workspace, Secret, Lease string }
	for sentence, test := range map[string]struct {
		spec TerraformSpec
		want names
	}{
		"a plain stack": {
			TerraformSpec{},
			names{"default", "tfstate-default-network", "lock-tfstate-default-network"},
		},
		"a workspace is in the middle": {
			TerraformSpec{Workspace: "blue"},
			names{"blue", "tfstate-blue-network", "lock-tfstate-blue-network"},
		},
		"a suffix takes the place of the name": {
			TerraformSpec{BackendConfig: &BackendConfigSpec{SecretSuffix: "shared"}},
			names{"default", "tfstate-default-shared", "lock-tfstate-default-shared"},
		},
		"a backend configuration without a suffix changes nothing": {
			TerraformSpec{BackendConfig: &BackendConfigSpec{Labels: map[string]string{"a": "b"}}},
			names{"default", "tfstate-default-network", "lock-tfstate-default-network"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := stack(test.spec)
			got := names{s.WorkspaceName(), s.StateSecretName(), s.LeaseName()}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
		})
	}
}

func TestWhoKeepsTheState(t *testing.T) {
	for sentence, test := range map[string]struct {
		spec TerraformSpec
		own  bool
	}{
		"Yuba, when nothing is said":            {TerraformSpec{}, false},
		"Yuba, with labels and a suffix":        {TerraformSpec{BackendConfig: &BackendConfigSpec{SecretSuffix: "a"}}, false},
		"the module's backend, when disabled":   {TerraformSpec{BackendConfig: &BackendConfigSpec{Disable: true}}, true},
		"the backend that the stack configures": {TerraformSpec{BackendConfig: &BackendConfigSpec{CustomConfiguration: `backend "s3" {}`}}, true},
		"the cloud":                             {TerraformSpec{Cloud: &CloudSpec{}}, true},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := stack(test.spec).KeepsOwnState(); got != test.own {
				t.Errorf("KeepsOwnState() = %v, want %v", got, test.own)
			}
		})
	}
}

func TestWhereTheProgramIs(t *testing.T) {
	inline := map[string]string{"main.tf": "# inline"}
	for sentence, test := range map[string]struct {
		spec TerraformSpec
		want map[string]string
	}{
		"nowhere":                        {TerraformSpec{}, nil},
		"in a source":                    {TerraformSpec{SourceRef: &CrossNamespaceSourceReference{Kind: "Bucket", Name: "a"}}, nil},
		"in the object":                  {TerraformSpec{Inline: inline}, inline},
		"in values.hcl":                  {TerraformSpec{Values: jsonOf(`{"hcl": "# values"}`)}, map[string]string{"main.tf": "# values"}},
		"values.hcl wins over inline":    {TerraformSpec{Values: jsonOf(`{"hcl": "# values"}`), Inline: inline}, map[string]string{"main.tf": "# values"}},
		"an empty program is one":        {TerraformSpec{Values: jsonOf(`{"hcl": ""}`)}, map[string]string{"main.tf": ""}},
		"values with other keys are not": {TerraformSpec{Values: jsonOf(`{"hcl": "", "region": "a"}`)}, nil},
		"an hcl that is no string":       {TerraformSpec{Values: jsonOf(`{"hcl": {"a": 1}}`)}, nil},
		"an hcl that is null":            {TerraformSpec{Values: jsonOf(`{"hcl": null}`)}, nil},
		"values that are no object":      {TerraformSpec{Values: jsonOf(`["hcl"]`)}, nil},
		"values that are null":           {TerraformSpec{Values: jsonOf(`null`)}, nil},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, ok := stack(test.spec).InlineProgram()
			if diff := cmp.Diff(test.want, got); diff != "" || ok != (test.want != nil) {
				t.Errorf("InlineProgram() says %v (-want +got):\n%s", ok, diff)
			}
		})
	}
}

func TestTheInlineProgramIsACopy(t *testing.T) {
	s := stack(TerraformSpec{Inline: map[string]string{"main.tf": "# inline"}})
	files, _ := s.InlineProgram()
	files["other.tf"] = ""
	if diff := cmp.Diff(map[string]string{"main.tf": "# inline"}, s.Spec.Inline); diff != "" {
		t.Errorf("the object changed (-want +got):\n%s", diff)
	}
}

func TestDurationsHaveTheDefaultsOfTofuController(t *testing.T) {
	type durations struct{ Retry, MaxRetry, Drift, Grace time.Duration }
	for sentence, test := range map[string]struct {
		spec TerraformSpec
		want durations
	}{
		"nothing is said": {
			TerraformSpec{Interval: *minutes(10)},
			durations{15 * time.Second, 24 * time.Hour, 10 * time.Minute, 30 * time.Second},
		},
		"everything is said": {
			TerraformSpec{
				Interval: *minutes(10), RetryInterval: minutes(1), MaxRetryInterval: minutes(2), DriftDetectionInterval: minutes(3),
				RunnerTerminationGracePeriodSeconds: ptr.To[int64](4),
			},
			durations{time.Minute, 2 * time.Minute, 3 * time.Minute, 4 * time.Second},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			s := stack(test.spec)
			got := durations{s.GetRetryInterval(), s.GetMaxRetryInterval(), s.GetDriftDetectionInterval(), s.GetGracePeriod()}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("durations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSwitchesThatAreOnUnlessSwitchedOff(t *testing.T) {
	off := ptr.To(false)
	for name, test := range map[string]struct{ byDefault, whenOff bool }{
		"upgradeOnInit":          {stack(TerraformSpec{}).UpgradesOnInit(), stack(TerraformSpec{UpgradeOnInit: off}).UpgradesOnInit()},
		"alwaysCleanupRunnerPod": {stack(TerraformSpec{}).CleansUpRunnerPod(), stack(TerraformSpec{AlwaysCleanupRunnerPod: off}).CleansUpRunnerPod()},
		"webhooks.enabled":       {Webhook{}.IsEnabled(), Webhook{Enabled: off}.IsEnabled()},
		"plan":                   {(*PlanSpec)(nil).Locks(), (&PlanSpec{Lock: off}).Locks()},
		"plan.lock":              {(&PlanSpec{}).Locks(), (&PlanSpec{Lock: off}).Locks()},
	} {
		if !test.byDefault || test.whenOff {
			t.Errorf("%s is %v by default and %v when it is off", name, test.byDefault, test.whenOff)
		}
	}
}

func TestApproval(t *testing.T) {
	for value, want := range map[string]struct{ auto, driftOnly bool }{
		"": {}, "auto": {auto: true}, "disable": {driftOnly: true}, "plan-main-1a2b3c4d5e": {}, "automatic": {},
	} {
		s := stack(TerraformSpec{ApprovePlan: value})
		if s.AutoApproves() != want.auto || s.DriftOnly() != want.driftOnly {
			t.Errorf("approvePlan %q: auto %v, drift only %v; want %+v", value, s.AutoApproves(), s.DriftOnly(), want)
		}
	}
}

func TestWhoAwaitsApproval(t *testing.T) {
	for sentence, c := range map[string]struct {
		change func(*Terraform)
		want   bool
	}{
		"a plan is pending":                         {func(*Terraform) {}, true},
		"there is none":                             {func(s *Terraform) { s.Status.Plan.Pending = "" }, false},
		"it is approved":                            {func(s *Terraform) { s.Spec.ApprovePlan = "plan-1" }, false},
		"it was rejected":                           {func(s *Terraform) { s.Annotations = map[string]string{AnnotationRejected: "plan-1"} }, false},
		"another one was rejected":                  {func(s *Terraform) { s.Annotations = map[string]string{AnnotationRejected: "plan-0"} }, true},
		"nothing is ever applied":                   {func(s *Terraform) { s.Spec.PlanOnly = true }, false},
		"drift is only told":                        {func(s *Terraform) { s.Spec.ApprovePlan = ApprovePlanDisable }, false},
		"the stack is suspended":                    {func(s *Terraform) { s.Spec.Suspend = true }, false},
		"plans are approved automatically":          {func(s *Terraform) { s.Spec.ApprovePlan = ApprovePlanAuto }, false},
		"so they are, but an outage holds this one": {func(s *Terraform) { s.Spec.ApprovePlan, s.Status.Plan.HeldBy = ApprovePlanAuto, "aws" }, true},
	} {
		s := stack(TerraformSpec{})
		s.Status.Plan.Pending = "plan-1"
		c.change(s)
		if got := s.AwaitsApproval(); got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

func TestSourceNamespace(t *testing.T) {
	for want, ref := range map[string]*CrossNamespaceSourceReference{
		"":       nil,
		"team-a": {Kind: "Bucket", Name: "a"},
		"other":  {Kind: "Bucket", Name: "a", Namespace: "other"},
	} {
		if got := stack(TerraformSpec{SourceRef: ref}).SourceNamespace(); got != want {
			t.Errorf("the source %v is in %q, want %q", ref, got, want)
		}
	}
}
