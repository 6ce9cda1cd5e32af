// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"strings"
	"testing"

	"github.com/fluxcd/pkg/apis/meta"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func TestBadProgramsAndInputsAreNamedBeforeAnythingRuns(t *testing.T) {
	y, ns := common(t)
	for name, c := range map[string]struct {
		obj    *infrav1.Terraform
		reason string
		says   []string
	}{
		"invalid HCL shows file, line and snippet": {
			inline(ns, "invalid", "resource \"terraform_data\" \"a\" {\n  input = \n}\n"), infrav1.ReasonInitFailed,
			[]string{"main.tf", "line 2", "input ="}},
		"missing and mistyped variables are reported together": {
			inline(ns, "variables", "variable \"a\" { type = string }\nvariable \"b\" { type = number }\n", variable("b", "many")),
			infrav1.ReasonVarsGenerationFailed, []string{"main.tf:1", `"a"`, "main.tf:2", `"b"`}},
		"a missing Secret is named": {
			inline(ns, "missing", greeting, varsFrom("Secret", "nowhere")), infrav1.ReasonVarsGenerationFailed, []string{"nowhere"}},
		"a missing source is named": {
			pushed(ns, "sourceless2", "nowhere"), infrav1.ReasonArtifactFailed, []string{"nowhere", "not found"}},
		"a path that is not there is named": {
			inline(ns, "path", greeting, func(o *infrav1.Terraform) { o.Spec.Path = "sub/dir" }), infrav1.ReasonArtifactFailed, []string{"sub/dir"}},
		"a source of another namespace is denied": {
			pushed(ns, "denied", "x", func(o *infrav1.Terraform) { o.Spec.SourceRef.Namespace = "kube-system" }), infrav1.ReasonAccessDenied,
			[]string{"cannot access ExternalArtifact/kube-system/x, cross-namespace references have been disabled"}},
		"a file of values that the source lacks is named": {
			inline(ns, "tfvars", greeting, variable("name", "x"), func(o *infrav1.Terraform) { o.Spec.TfVarsFiles = []string{"a.tfvars"} }),
			infrav1.ReasonPlanFailed, []string{"tfvars file's path does not exist: a.tfvars", "spec.tfVarsFiles[0]"}},
		"a value that a template lacks is named": {
			inline(ns, "template", "", func(o *infrav1.Terraform) { o.Spec.Inline = map[string]string{"main.tf.tpl": "{{ .x }}"} }),
			infrav1.ReasonTemplateGenerationFailed, []string{"main.tf.tpl:1:3: .x has no value"}},
		"a value that a template in the values lacks is named": {
			inline(ns, "values", greeting, variable("name", "x"), func(o *infrav1.Terraform) {
				o.Spec.Values = &apiextensionsv1.JSON{Raw: []byte(`{"net": {"id": "${{ .vpc.id }}"}}`)}
			}),
			infrav1.ReasonTemplateGenerationFailed, []string{"spec.values.net.id: .vpc.id has no value"}},
		"a configuration of another namespace is denied": {
			inline(ns, "tfrc", greeting, variable("name", "x"), func(o *infrav1.Terraform) {
				o.Spec.CliConfigSecretRef = &corev1.SecretReference{Namespace: "kube-system", Name: "tfrc"}
			}),
			infrav1.ReasonAccessDenied, []string{"cannot access secret kube-system/tfrc, cross-namespace references have been disabled"}},
		"a file that comes from nowhere is named": {
			inline(ns, "files", greeting, variable("name", "x"), func(o *infrav1.Terraform) {
				o.Spec.FileMappings = []infrav1.FileMapping{{SecretRef: meta.SecretKeyReference{Name: "nowhere", Key: "x"}, Location: "home", Path: "x"}}
			}),
			infrav1.ReasonInitFailed, []string{"spec.fileMappings[0]", "nowhere: does not exist"}},
	} {
		t.Run(name, func(t *testing.T) {
			y.create(t, c.obj)
			seen := y.await(t, c.obj, "it fails with "+c.reason, failedWith(c.reason))
			for _, s := range c.says {
				if m := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(m, s) {
					t.Errorf("the message lacks %q:\n%s", s, m)
				}
			}
			if seen.Status.LastRun != nil {
				t.Error("a run was started")
			}
		})
	}
}

func TestIgnoredFieldIsAWarning(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "ignored", greeting, variable("name", "x"), auto, func(o *infrav1.Terraform) { o.Spec.BranchPlanner = &infrav1.BranchPlanner{} })
	y.create(t, obj)
	seen := y.await(t, obj, "it is ready", ready)
	if len(seen.Status.Warnings) != 1 || !strings.Contains(seen.Status.Warnings[0], "spec.branchPlanner") {
		t.Errorf("warnings: %q", seen.Status.Warnings)
	}
}

func TestPlanErrorCarriesTofusDiagnostics(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "failing", "resource \"terraform_data\" \"a\" {\n  input = \"x\"\n  lifecycle {\n    postcondition {\n      condition     = self.input == \"y\"\n      error_message = \"one is not two\"\n    }\n  }\n}\n", auto)
	y.create(t, obj)
	seen := y.await(t, obj, "the plan fails", failedWith(infrav1.ReasonPlanFailed))
	m := condition(seen, infrav1.ConditionReady).Message
	for _, s := range []string{"main.tf line 5", "self.input", "one is not two"} {
		if !strings.Contains(m, s) {
			t.Errorf("the message lacks %q:\n%s", s, m)
		}
	}
	if seen.Status.LastRun.Status != "failed" {
		t.Errorf("the last run is %+v", seen.Status.LastRun)
	}
}

func TestStateThatIsNoStateIsNeverOverwritten(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "corrupt", greeting, variable("name", "x"), auto)
	broken := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tfstate-default-corrupt",
		Labels: map[string]string{"tfstate": "true", "tfstateSecretSuffix": "corrupt", "tfstateWorkspace": "default"}},
		Data: map[string][]byte{"tfstate": []byte("this is not gzip")}}
	y.create(t, broken, obj)
	seen := y.await(t, obj, "the run fails", func(o *infrav1.Terraform) bool {
		return settled(o) && condition(o, infrav1.ConditionReady).Status == metav1.ConditionFalse
	})
	if m := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(m, "yuba state") {
		t.Errorf("the message does not help: %s", m)
	}
	if got := string(y.secret(t, ns, broken.Name)["tfstate"]); got != "this is not gzip" {
		t.Errorf("the Secret was overwritten: %q", got)
	}
}

func TestVanishedStateIsNotAFreshStart(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "vanished", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	run := y.await(t, obj, "it is ready", ready).Status.LastAppliedRun
	y.delete(t, secretOf(ns, "tfstate-default-vanished", nil))
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"y"`) })
	seen := y.await(t, obj, "it says that the state is gone", func(o *infrav1.Terraform) bool {
		return settled(o) && strings.Contains(condition(o, infrav1.ConditionReady).Message, "yuba state rollback")
	})
	if seen.Status.LastAppliedRun != run {
		t.Error("something was applied")
	}
}

func TestLockOfAnotherIsRespectedAndNamed(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "locked", greeting, variable("name", "x"), auto)
	holder := "3f2a-4711"
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "lock-tfstate-default-locked",
		Annotations: map[string]string{"app.terraform.io/lock-info": `{"ID":"3f2a-4711","Operation":"OperationTypeApply","Who":"ci@build7","Created":"2026-11-20T10:02:00Z"}`}},
		Spec: coordinationv1.LeaseSpec{HolderIdentity: &holder}}
	y.create(t, lease, obj)
	seen := y.await(t, obj, "it waits for the lock", failedWith(infrav1.ReasonLockHeld))
	m := condition(seen, infrav1.ConditionReady).Message
	for _, s := range []string{"ci@build7", "2026-11-20T10:02:00Z", "yuba force-unlock", holder} {
		if !strings.Contains(m, s) {
			t.Errorf("the message lacks %q: %s", s, m)
		}
	}
	if c := condition(seen, infrav1.ConditionStateLocked); c.Status != metav1.ConditionTrue || c.Message != "Terraform Locked with Lock Identifier: "+holder {
		t.Errorf("StateLocked is %s %q", c.Status, c.Message)
	}
	var now coordinationv1.Lease
	if err := y.client.Get(t.Context(), client.ObjectKeyFromObject(lease), &now); err != nil {
		t.Fatal(err)
	}
	now.Spec.HolderIdentity = nil
	delete(now.Annotations, "app.terraform.io/lock-info")
	if err := y.client.Update(t.Context(), &now); err != nil {
		t.Fatal(err)
	}
	y.await(t, obj, "it continues", ready)
}
