// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
)

func heldStack(t *testing.T, approve string, released bool) *infrav1.Terraform {
	t.Helper()
	h := infrav1.PullRequestHold{Planner: "p", Of: "infra#7", Source: "infra-pull-7", Commit: "cccccccc", Released: released}
	text, err := h.Annotation()
	if err != nil {
		t.Fatal(err)
	}
	o := &infrav1.Terraform{}
	o.Namespace, o.Name, o.Annotations = "prod", "net", map[string]string{infrav1.AnnotationPullRequest: text}
	o.Spec.ApprovePlan = approve
	o.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: infrav1.SourceKindGitRepository, Name: "infra"}
	o.Status.Plan.Pending, o.Status.Plan.Digest = "plan-1", "sha256:1"
	return o
}

func TestAHeldStackAppliesOnlyWhatIsNamed(t *testing.T) {
	rec := func(plan string) run.Record {
		r := run.Record{}
		if plan != "" {
			r.Spec.Plan = &run.PlanRef{ID: plan}
		}
		return r
	}
	for sentence, c := range map[string]struct {
		approve  string
		force    bool
		approved string
		rec      run.Record
		may      bool
		mode     decide.Mode
	}{
		"mode auto plans and applies":         {"auto", false, "", rec(""), false, decide.ModeManual},
		"mode auto applies what nobody named": {"auto", false, "", rec("plan-1"), false, decide.ModeManual},
		"mode auto, and the plan is named":    {"auto", false, "plan-1", rec("plan-1"), true, decide.ModeManual},
		"mode auto, and another is named":     {"auto", false, "plan-0", rec("plan-1"), false, decide.ModeManual},
		"force":                               {"", true, "", rec(""), false, decide.ModeManual},
		"manual, and the plan is named":       {"plan-1", false, "", rec("plan-1"), true, decide.ModeManual},
		"manual, and another is named":        {"plan-0", false, "", rec("plan-1"), false, decide.ModeManual},
		"nothing is ever applied":             {"disable", false, "", rec("plan-1"), false, decide.ModeDisabled},
	} {
		for _, released := range []bool{false, true} {
			o := heldStack(t, c.approve, released)
			o.Spec.Force = c.force
			if c.approved != "" {
				o.Annotations[infrav1.AnnotationApproved] = c.approved
			}
			if no := objection(o, c.rec); (no == "") != c.may {
				t.Errorf("%s (released: %v): %q", sentence, released, no)
			}
			if s := stackFacts(o); s.Mode != c.mode || s.Force || s.PullRequest == "" {
				t.Errorf("%s: %+v", sentence, s)
			}
		}
	}
}

func TestWhichSourceAHeldStackRuns(t *testing.T) {
	broken := heldStack(t, "auto", false)
	broken.Annotations[infrav1.AnnotationPullRequest] = "{"
	for sentence, c := range map[string]struct {
		o    *infrav1.Terraform
		want string
		held bool
	}{
		"held":                {heldStack(t, "auto", false), "infra-pull-7", true},
		"released":            {heldStack(t, "auto", true), "infra", true},
		"an unreadable value": {broken, "infra", true},
		"not held":            {func() *infrav1.Terraform { o := heldStack(t, "auto", false); o.Annotations = nil; return o }(), "infra", false},
	} {
		if got := c.o.ProgramSource(); got.Name != c.want || (c.o.PullRequestHold() != nil) != c.held || c.o.HoldsPlans() != c.held {
			t.Errorf("%s: %+v", sentence, got)
		}
	}
}

func TestAsAnotherIdentity(t *testing.T) {
	secret := func(name string) corev1.EnvVar {
		return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{Key: "k"}}}
	}
	from := func(name string) corev1.EnvFromSource {
		return corev1.EnvFromSource{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: name}}}
	}
	spec := infrav1.TerraformSpec{ServiceAccountName: "admin", Env: []corev1.EnvVar{{Name: "REGION", Value: "eu"}, secret("AWS_SECRET_ACCESS_KEY")},
		EnvFrom: []corev1.EnvFromSource{from("admin"), {ConfigMapRef: &corev1.ConfigMapEnvSource{}}}, IdentityTokens: []infrav1.IdentityToken{{Audience: "a"}},
		FileMappings: []infrav1.FileMapping{{Location: infrav1.FileLocationHome}, {Location: infrav1.FileLocationWorkspace}}}
	spec.RunnerPodTemplate = &infrav1.RunnerPodTemplate{}
	spec.RunnerPodTemplate.Spec.Env, spec.RunnerPodTemplate.Spec.EnvFrom = []corev1.EnvVar{secret("X")}, []corev1.EnvFromSource{from("admin")}
	as(&spec, &speculative.Identity{Secrets: []string{"read-only"}})
	if len(spec.Env) != 1 || spec.Env[0].Name != "REGION" || len(spec.EnvFrom) != 2 || spec.EnvFrom[1].SecretRef.Name != "read-only" || spec.ServiceAccountName != "" ||
		len(spec.IdentityTokens) != 0 || len(spec.FileMappings) != 1 || len(spec.RunnerPodTemplate.Spec.Env)+len(spec.RunnerPodTemplate.Spec.EnvFrom) != 0 {
		t.Errorf("it is %+v", spec)
	}
}

// TestAPlanThatIsMadeAnewLosesItsApproval: equal changes do not say that files and values of inputs are equal,
// too, and these were compared with the reviewed ones.
func TestAPlanThatIsMadeAnewLosesItsApproval(t *testing.T) {
	h := infrav1.PullRequestHold{Planner: "p", Of: "infra#7", Source: "infra-pull-7", Commit: "cccccccc"}
	text, err := h.Annotation()
	if err != nil {
		t.Fatal(err)
	}
	for held, want := range map[bool]string{false: planID, true: planID + "-2"} {
		obj := stackObject(planPending)
		obj.Status.Plan.Approved = true
		if held {
			obj.Annotations = map[string]string{infrav1.AnnotationPullRequest: text}
		}
		record(obj, ran(run.OperationPlan, changes))
		if plan := obj.Status.Plan; plan.Pending != want || held && plan.Approved {
			t.Errorf("held: %v: the plan is %s, approved: %v", held, plan.Pending, plan.Approved)
		}
	}
}
