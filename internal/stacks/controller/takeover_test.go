// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/scope"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// stackNamed is a stack of the namespace "team" that keeps its state under its own name.
func stackNamed(name, uid string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: types.UID(uid)}}
	for _, c := range change {
		c(obj)
	}
	return obj
}

func suffixed(suffix string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) { t.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: suffix} }
}

func ofTenant(uid string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) { t.Labels = map[string]string{tenantv1.LabelUID: uid} }
}

func labelling(name, value string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Spec.BackendConfig = &infrav1.BackendConfigSpec{Labels: map[string]string{name: value}}
	}
}

func adopting(what string) func(*infrav1.Terraform) {
	return func(t *infrav1.Terraform) {
		t.Annotations = map[string]string{infrav1.AnnotationAdoptState: what}
	}
}

func TestTakeover(t *testing.T) {
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	former := state.Ownership{Owners: []state.Owner{{Name: "old", UID: "uid-0"}, {Name: "net", UID: "uid-1"}}, Deleted: at}
	of := func(tenant scope.Scope) state.Ownership { o := former; o.Scope = tenant; return o }
	deleted := metav1.NewTime(at)
	taken := &infrav1.StateTakeover{Name: "net", UID: "uid-1", DeletedAt: &deleted}
	for sentence, c := range map[string]struct {
		obj   *infrav1.Terraform
		owned state.Ownership
		alive *infrav1.Terraform
		want  *infrav1.StateTakeover
	}{
		"the state of a deleted stack":                            {stackNamed("net", "uid-2"), former, nil, taken},
		"nobody's":                                                {stackNamed("net", "uid-2"), state.Ownership{}, nil, nil},
		"its own":                                                 {stackNamed("net", "uid-1"), former, nil, nil},
		"its own, later used by another stack":                    {stackNamed("net", "uid-0"), former, nil, nil},
		"adopted from any stack":                                  {stackNamed("net", "uid-2", adopting("any")), former, nil, nil},
		"adopted from that stack":                                 {stackNamed("net", "uid-2", adopting("uid-1")), former, nil, nil},
		"adopted from another stack":                              {stackNamed("net", "uid-2", adopting("uid-7")), former, nil, taken},
		"of the same stack of the same tenant":                    {stackNamed("net", "uid-2", ofTenant("acme")), of("acme"), nil, nil},
		"of another stack of the same tenant":                     {stackNamed("web", "uid-2", ofTenant("acme"), suffixed("net")), of("acme"), nil, taken},
		"of a stack without a tenant that now has one":            {stackNamed("net", "uid-2", ofTenant("acme")), former, nil, taken},
		"shared with an existing stack":                           {stackNamed("app", "uid-2", suffixed("net")), former, stackNamed("net", "uid-1"), nil},
		"shared with an earlier writer that still exists":         {stackNamed("app", "uid-2", suffixed("net")), former, stackNamed("old", "uid-0", suffixed("net")), nil},
		"left by an existing stack that now has another state":    {stackNamed("app", "uid-2", suffixed("net")), former, stackNamed("net", "uid-1", suffixed("moved")), taken},
		"left by an existing stack that now has a custom backend": {stackNamed("app", "uid-2", suffixed("net")), former, stackNamed("net", "uid-1", func(t *infrav1.Terraform) { t.Spec.Cloud = &infrav1.CloudSpec{} }), taken},
		"used by a new stack with the deleted one's name":         {stackNamed("app", "uid-2", suffixed("net")), former, stackNamed("net", "uid-9"), taken},
	} {
		t.Run(sentence, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := infrav1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			world := fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.obj)
			if c.alive != nil {
				world = world.WithObjects(c.alive)
			}
			got, err := stateAccessOf(&Reconciler{Reader: world.Build()}).takeover(t.Context(), c.obj, c.owned)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// The watch may lag. A run that began without knowing the owner is stopped before it applies.
func TestPermitOnADeletedStacksState(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := infrav1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	automatic := func(t *infrav1.Terraform) { t.Spec.ApprovePlan = infrav1.ApprovePlanAuto }
	approving := func(t *infrav1.Terraform) { t.Annotations = map[string]string{infrav1.AnnotationApproved: "plan-1"} }
	foreign := run.StateOwners{Stacks: []run.StateOwner{{Name: "net", UID: "uid-1"}}}
	managed := run.Spec{Operation: run.OperationPlanAndApply, Backend: run.Backend{Kind: run.BackendManaged}}
	with := func(change func(*run.Spec)) run.Spec { s := managed; change(&s); return s }
	for sentence, c := range map[string]struct {
		obj    *infrav1.Terraform
		spec   run.Spec
		owners run.StateOwners
		may    bool
	}{
		"mode auto":                    {stackNamed("net", "uid-2", automatic), managed, foreign, false},
		"a declared destroy":           {stackNamed("net", "uid-2"), with(func(s *run.Spec) { s.Purpose, s.Destroy = run.PurposeDelete, true }), foreign, false},
		"an unapproved plan":           {stackNamed("net", "uid-2", automatic), with(func(s *run.Spec) { s.Plan = &run.PlanRef{ID: "plan-1"} }), foreign, false},
		"an approved plan":             {stackNamed("net", "uid-2", automatic, approving), with(func(s *run.Spec) { s.Plan = &run.PlanRef{ID: "plan-1"} }), foreign, true},
		"a plan approved by its field": {stackNamed("net", "uid-2", func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "plan-1" }), with(func(s *run.Spec) { s.Plan = &run.PlanRef{ID: "plan-1"} }), foreign, true},
		"another plan is approved":     {stackNamed("net", "uid-2", automatic, approving), with(func(s *run.Spec) { s.Plan = &run.PlanRef{ID: "plan-2"} }), foreign, false},
		"its own state":                {stackNamed("net", "uid-1", automatic), managed, foreign, true},
		"a state without owners":       {stackNamed("net", "uid-2", automatic), managed, run.StateOwners{}, true},
		"an adopted state":             {stackNamed("net", "uid-2", automatic, adopting("any")), managed, foreign, true},
		"manual work":                  {stackNamed("net", "uid-2", automatic), with(func(s *run.Spec) { s.Operation = run.OperationState }), foreign, true},
		"a custom backend":             {stackNamed("net", "uid-2", automatic), with(func(s *run.Spec) { s.Backend.Kind = run.BackendOwn }), foreign, true},
		"the same stack of its tenant": {stackNamed("net", "uid-2", automatic, ofTenant("acme")), managed, run.StateOwners{Stacks: foreign.Stacks, Scope: "acme"}, true},
		"a tenant's stack on the state of a stack without a tenant": {stackNamed("net", "uid-2", automatic, ofTenant("acme")), managed, foreign, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			r := &Reconciler{Reader: fake.NewClientBuilder().WithScheme(scheme).WithObjects(c.obj).Build()}
			no, err := stateAccessOf(r).takeoverObjection(t.Context(), c.obj, run.Record{Spec: c.spec, StateOwners: c.owners})
			if err != nil {
				t.Fatal(err)
			}
			if (no == "") != c.may || no != "" && !strings.Contains(no, "team/net") {
				t.Errorf("objection %q", no)
			}
		})
	}
}

func TestInvalidStateNames(t *testing.T) {
	long := strings.Repeat("x", 240)
	workspace := func(name string) func(*infrav1.Terraform) {
		return func(t *infrav1.Terraform) { t.Spec.Workspace = name }
	}
	for sentence, c := range map[string]struct {
		obj  *infrav1.Terraform
		want string
	}{
		"valid names":                            {stackNamed("net", "u"), ""},
		"a name that is too long":                {stackNamed(long, "u"), "labelled with the stack's name, which has 240 characters; a label has at most 63. Set spec.backendConfig.secretSuffix"},
		"a long name with a suffix":              {stackNamed(long, "u", suffixed("short")), ""},
		"a suffix that is too long":              {stackNamed("net", "u", suffixed(long)), "labelled with spec.backendConfig.secretSuffix, which has 240 characters"},
		"a suffix in capitals":                   {stackNamed("net", "u", suffixed("Net")), `named after spec.backendConfig.secretSuffix, and "Net" cannot`},
		"a workspace in capitals":                {stackNamed("net", "u", workspace("Prod")), `named after spec.workspace, and "Prod" cannot be part of such a name. Set spec.workspace`},
		"a workspace with an underscore":         {stackNamed("net", "u", workspace("a_b")), `"a_b" cannot`},
		"a workspace with a path that leads out": {stackNamed("net", "u", workspace("../..")), `"../.." cannot`},
		"a workspace that ends in a dash":        {stackNamed("net", "u", workspace("a-")), `"a-" cannot`},
		"an invalid value of a state label":      {stackNamed("net", "u", labelling("team", "a/b")), `the label "team" with the value "a/b" is not valid`},
		"an invalid name of a state label":       {stackNamed("net", "u", labelling("a b", "c")), `the label "a b"`},
		"a valid state label":                    {stackNamed("net", "u", labelling("example.com/team", "a")), ""},
		"a custom backend has no such limits":    {stackNamed(long, "u", workspace("Prod"), func(t *infrav1.Terraform) { t.Spec.Cloud = &infrav1.CloudSpec{} }), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			problem, err := stateAccessOf(&Reconciler{}).refusedState(t.Context(), c.obj)
			if err != nil {
				t.Fatal(err)
			}
			if c.want == "" {
				if problem != nil {
					t.Errorf("%v", problem)
				}
				return
			}
			if problem == nil || problem.Reason != infrav1.ReasonInvalidName || !strings.Contains(problem.Message, c.want) {
				t.Errorf("got %v, want %q", problem, c.want)
			}
		})
	}
}
