// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

const greeting = `
variable "name" { type = string }
resource "terraform_data" "greeting" { input = "hello ${var.name}" }
output "greeting" { value = terraform_data.greeting.output }
output "parts"    { value = ["hello", var.name] }
`

func TestPlanIsApprovedAppliedAndItsOutputsWritten(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "hello", greeting, variable("name", "world"), outputsTo("hello-outputs"))
	y.create(t, obj)
	planned := y.await(t, obj, "its plan waits", waiting)
	id := planned.Status.Plan.Pending
	if !strings.HasPrefix(id, "plan-inline-") {
		t.Errorf("the plan is called %q", id)
	}
	ready := condition(planned, infrav1.ConditionReady)
	if want := `Plan generated: set approvePlan: "` + id + `" to approve this plan.`; ready.Message != want || ready.Status != metav1.ConditionUnknown {
		t.Errorf("Ready is %s %q, want Unknown %q", ready.Status, ready.Message, want)
	}
	if planned.Status.Plan.Summary != "+1 ~0 -0" {
		t.Errorf("the summary is %q", planned.Status.Plan.Summary)
	}
	approve(t, y, obj)
	applied := y.await(t, obj, "it is applied", func(o *infrav1.Terraform) bool {
		return settled(o) && o.Status.Plan.LastApplied == id
	})
	if c := condition(applied, infrav1.ConditionReady); c.Reason != infrav1.ReasonOutputsWritten || c.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %s %s", c.Status, c.Reason)
	}
	want := map[string][]byte{"greeting": []byte("hello world"),
		"parts": []byte("[\n      \"hello\",\n      \"world\"\n    ]"), "parts__type": []byte("[\n      \"tuple\",\n      [\n        \"string\",\n        \"string\"\n      ]\n    ]")}
	if diff := cmp.Diff(want, y.secret(t, ns, "hello-outputs")); diff != "" {
		t.Errorf("outputs (-want +got):\n%s", diff)
	}
}

// New users read every warning.
func TestAFreshStartAndAFirstStackWarnOfNothing(t *testing.T) {
	y := alone(t)
	obj := inline(y.namespace(t), "first", greeting, variable("name", "world"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is applied", settled)
	for line := range strings.Lines(y.logText()) {
		if strings.Contains(line, "level=WARN") || strings.Contains(line, "level=ERROR") {
			t.Error(line)
		}
	}
}

func TestAPlanIdThatIsNotPendingAppliesNothing(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "stale", greeting, variable("name", "world"))
	obj.Spec.ApprovePlan = "plan-main-0123456789"
	y.create(t, obj)
	planned := y.await(t, obj, "its plan waits and says that the id is another", func(o *infrav1.Terraform) bool {
		return waiting(o) && strings.Contains(condition(o, infrav1.ConditionReady).Message, `approvePlan names "plan-main-0123456789", which is not pending`)
	})
	if planned.Status.LastAppliedRevision != "" {
		t.Error("it was applied")
	}
}

func TestChangedConfigMapIsAppliedAtOnce(t *testing.T) {
	y, ns := common(t)
	cm := configMap(ns, "settings", map[string]string{"name": "one", "shared": "undeclared"})
	obj := inline(ns, "watching", greeting, varsFrom("ConfigMap", "settings"), auto, outputsTo("out"))
	y.create(t, cm, obj)
	first := y.await(t, obj, "it is ready", ready)
	if len(first.Status.Warnings) != 1 || !strings.Contains(first.Status.Warnings[0], "shared") {
		t.Errorf("warnings: %q, want one about the undeclared variable", first.Status.Warnings)
	}
	run := first.Status.LastAppliedRun
	cm.Data["name"] = "two"
	if err := y.client.Update(t.Context(), cm); err != nil {
		t.Fatal(err)
	}
	y.await(t, obj, "the change is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedRun != run
	})
	if got := string(y.secret(t, ns, "out")["greeting"]); got != "hello two" {
		t.Errorf("the output is %q", got)
	}
}

func TestStacksAreConnectedThroughAnOutputsSecret(t *testing.T) {
	y, ns := common(t)
	consumer := inline(ns, "consumer", greeting, varsFrom("Secret", "producer-outputs"), auto, outputsTo("consumer-outputs"))
	y.create(t, consumer)
	y.await(t, consumer, "it waits for the Secret", failedWith(infrav1.ReasonVarsGenerationFailed))
	producer := inline(ns, "producer", `output "name" { value = "from the producer" }`, auto, outputsTo("producer-outputs"))
	y.create(t, producer)
	y.await(t, consumer, "it follows", ready)
	if got := string(y.secret(t, ns, "consumer-outputs")["greeting"]); got != "hello from the producer" {
		t.Errorf("the output is %q", got)
	}
}

func TestRemovedOutputsSecretComesBack(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "outputs", greeting, variable("name", "x"), auto, outputsTo("out"))
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	y.delete(t, secretOf(ns, "out", nil))
	y.awaitSecret(t, ns, "out")
}

func TestForeignSecretIsNotOverwritten(t *testing.T) {
	y, ns := common(t)
	y.create(t, secretOf(ns, "theirs", map[string]string{"password": "x"}))
	obj := inline(ns, "outputs", greeting, variable("name", "x"), auto, outputsTo("theirs"))
	y.create(t, obj)
	y.await(t, obj, "it says whose the Secret is", failedWith(infrav1.ReasonOutputsWritingFailed))
	if diff := cmp.Diff(map[string][]byte{"password": []byte("x")}, y.secret(t, ns, "theirs")); diff != "" {
		t.Error(diff)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.WriteOutputsToSecret.Name = "ours" })
	y.await(t, obj, "another name mends it", ready)
	if got := string(y.secret(t, ns, "ours")["greeting"]); got != "hello x" {
		t.Errorf("the output is %q", got)
	}
}

func TestRejectedPlanIsNotAppliedUntilSomethingChanges(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "rejected", greeting, variable("name", "x"))
	y.create(t, obj)
	planned := y.await(t, obj, "its plan waits", waiting)
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Annotations = map[string]string{infrav1.AnnotationRejected: planned.Status.Plan.Pending}
		o.Spec.ApprovePlan = infrav1.ApprovePlanAuto
	})
	y.await(t, obj, "it says that the plan was rejected", failedWith(infrav1.ReasonPlanRejected))
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"y"`) })
	y.await(t, obj, "the new plan is applied", ready)
}

func TestSuspendedStackRests(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "suspended", greeting, variable("name", "x"), auto, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	y.create(t, obj)
	seen := y.await(t, obj, "it was reconciled", func(o *infrav1.Terraform) bool { return o.Status.ObservedGeneration == o.Generation })
	if seen.Status.CurrentRun != nil || seen.Status.LastRun != nil {
		t.Errorf("it had a run: %+v", seen.Status)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
	y.await(t, obj, "it is ready", ready)
}

func TestDestroyNeedsApprovalToo(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "destroyed", greeting, variable("name", "x"), auto)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Destroy, o.Spec.ApprovePlan = true, "" })
	planned := y.await(t, obj, "the plan to destroy waits", func(o *infrav1.Terraform) bool { return waiting(o) && o.Status.Plan.IsDestroyPlan })
	if planned.Status.Plan.Summary != "+0 ~0 -1" {
		t.Errorf("the summary is %q", planned.Status.Plan.Summary)
	}
	approve(t, y, obj)
	y.await(t, obj, "it is destroyed", func(o *infrav1.Terraform) bool {
		return ready(o) && strings.HasPrefix(condition(o, infrav1.ConditionApply).Message, infrav1.MessageDestroyed)
	})
}

func TestWorkspaceIsWhatTheProgramSees(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "workspaced", `output "workspace" { value = terraform.workspace }`, auto, outputsTo("out"),
		func(o *infrav1.Terraform) { o.Spec.Workspace = "prod" })
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	if got := string(y.secret(t, ns, "out")["workspace"]); got != "prod" {
		t.Errorf("terraform.workspace is %q", got)
	}
	y.secret(t, ns, "tfstate-prod-workspaced")
}

func TestPlanOnlyNeverApplies(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "planonly", greeting, variable("name", "x"), auto, func(o *infrav1.Terraform) { o.Spec.PlanOnly = true })
	y.create(t, obj)
	planned := y.await(t, obj, "it is planned", func(o *infrav1.Terraform) bool {
		return settled(o) && condition(o, infrav1.ConditionReady).Message == infrav1.MessagePlanOnly
	})
	if planned.Status.LastAppliedRevision != "" {
		t.Error("it was applied")
	}
}

// A program that comes back has the same plan ids as before. An approval used for a failed apply
// must not approve the program's new plan.
func TestApprovalOfAFailedApplyApprovesNothingLater(t *testing.T) {
	const program = `
variable "size" { type = string }
resource "terraform_data" "first" { input = var.size }
resource "terraform_data" "broken" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" { command = "exit 1" }
}
`
	y, ns := common(t)
	obj := inline(ns, "spent", program, variable("size", "small"))
	y.create(t, obj)
	spent := y.await(t, obj, "its plan waits", waiting).Status.Plan.Pending
	approve(t, y, obj)
	y.await(t, obj, "the apply fails and a fresh plan waits", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Status.LastAppliedRun != "" && o.Status.Plan.Pending != spent
	})
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"], o.Spec.Vars[0].Value.Raw = "# version two\n"+program, []byte(`"medium"`)
	})
	y.await(t, obj, "the other program's plan waits", func(o *infrav1.Terraform) bool {
		return waiting(o) && o.Status.LastPlannedRevision == o.Status.LastAttemptedRevision && !strings.HasPrefix(o.Status.Plan.Pending, spent)
	})
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.Inline["main.tf"], o.Spec.Vars[0].Value.Raw = program, []byte(`"huge"`)
	})
	seen := y.await(t, obj, "the first program's new plan waits under another id", func(o *infrav1.Terraform) bool {
		return waiting(o) && strings.HasPrefix(o.Status.Plan.Pending, spent)
	})
	if seen.Spec.ApprovePlan != spent || seen.Status.Plan.Pending == spent {
		t.Errorf("plan %s waits while approvePlan names %s", seen.Status.Plan.Pending, seen.Spec.ApprovePlan)
	}
	if bytes.Contains(y.state(t, obj), []byte("huge")) {
		t.Error("it was applied")
	}
}
