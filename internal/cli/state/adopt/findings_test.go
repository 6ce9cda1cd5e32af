// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package adopt

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

var (
	now    = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)
	before = now.Add(-90 * time.Minute)
)

// stack is one as tofu-controller leaves it: applied, at rest.
func stack(changes ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "vpc", Finalizers: []string{infrav1.Finalizer}}}
	t.Status.LastAppliedRevision = "main@sha1:abc"
	for _, change := range changes {
		change(t)
	}
	return t
}

func readable() *State {
	return &State{Secret: "tfstate-default-vpc", Found: true, Serial: 7, Size: 12000, Resources: 34}
}

const stateFine = "fine state: Yuba uses Secret tfstate-default-vpc as it is: serial 7, 34 resources, 12 KiB."

func TestWhatHappensToAStack(t *testing.T) {
	lock := &state.LockInfo{ID: "1-2", Who: "runner@vpc-tf-runner", Operation: "OperationTypeApply", Created: before}
	for sentence, test := range map[string]struct {
		facts Facts
		want  []string
	}{
		"a state that is there is used": {Facts{Stack: stack(), State: readable()}, []string{stateFine}},
		"a stack without a state begins one": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = "" }), State: &State{Secret: "tfstate-default-vpc"}},
			[]string{"fine state: The stack has no state yet; the first apply creates it in Secret tfstate-default-vpc."}},
		"an applied stack without a state waits": {Facts{Stack: stack(), State: &State{Secret: "tfstate-default-vpc"}},
			[]string{"attention state: The stack was applied, but its state is missing: Secret tfstate-default-vpc does not exist. Yuba runs nothing until it is restored, because an apply would create everything again."}},
		"a state that cannot be read": {Facts{Stack: stack(), State: &State{Secret: "tfstate-default-vpc", Found: true, Unreadable: "it is empty"}},
			[]string{"attention state: Secret tfstate-default-vpc does not contain a readable state: it is empty. Yuba runs nothing until it does."}},
		"a state that may not be read": {Facts{Stack: stack(), State: &State{Secret: "tfstate-default-vpc", Unknown: "forbidden"}},
			[]string{"attention state: Cannot read Secret tfstate-default-vpc, so the state is unknown: forbidden"}},
		"an encrypted state": {Facts{Stack: stack(), State: &State{Secret: "s", Found: true, Encrypted: true}},
			[]string{"fine state: Yuba uses Secret s, encrypted by OpenTofu, as it is."}},
		"a state that Yuba keeps": {Facts{Stack: stack(), State: &State{Secret: "s", Found: true, Elsewhere: true}},
			[]string{"fine state: Yuba already stores the state; Secret s names the place."}},
		"a backend of its own": {Facts{Stack: stack()},
			[]string{"fine state: Yuba uses the custom backend of the stack as it is."}},
		"two stacks with one state": {
			Facts{Stack: stack(), State: readable(), Sharers: []*infrav1.Terraform{stack(func(t *infrav1.Terraform) { t.Name = "twin" }),
				stack(func(t *infrav1.Terraform) { t.Name, t.Spec.PlanOnly = "vpc-pr-7", true })}},
			[]string{stateFine, "attention state: team-a/twin has the same state. Only one stack may write it; give the others their own backendConfig.secretSuffix or workspace."}},
		"a plan of the branch planner shares the state": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }), State: readable(), Sharers: []*infrav1.Terraform{stack()}},
			[]string{stateFine}},
		"a lock that is held": {Facts{Stack: stack(), State: readable(), Lock: lock},
			[]string{stateFine, "attention lock: runner@vpc-tf-runner holds the lock since 2026-01-02T13:34:05Z (1h30m0s ago), for OperationTypeApply. " +
				"Yuba cannot check whether the holder is still running, so it waits and neither plans nor applies. If the holder is gone, release the lock after Yuba has started:" +
				" | yuba force-unlock vpc -n team-a --lock-id 1-2"}},
		"a lock without details": {Facts{Stack: stack(), State: readable(), Lock: &state.LockInfo{ID: "1-2"}},
			[]string{stateFine, "attention lock: An unknown holder holds the lock since an unknown time, for an unknown operation. " +
				"Yuba cannot check whether the holder is still running, so it waits and neither plans nor applies. If the holder is gone, release the lock after Yuba has started:" +
				" | yuba force-unlock vpc -n team-a --lock-id 1-2"}},
		"a lock that is to be broken": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.TFState = &infrav1.TFStateSpec{ForceUnlock: infrav1.ForceUnlockAuto}
			}), State: readable(), Lock: lock},
			[]string{stateFine, "note lock: runner@vpc-tf-runner holds the lock since 2026-01-02T13:34:05Z (1h30m0s ago). Yuba breaks it, because spec.tfstate requests it."}},
		"another lock is to be broken": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.TFState = &infrav1.TFStateSpec{ForceUnlock: infrav1.ForceUnlockYes, LockIdentifier: "other"}
			}), State: readable(), LockProblem: "forbidden"},
			[]string{stateFine, "attention lock: The lock holder is unknown: forbidden"}},
		"a source that is missing": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "GitRepository team-a/infra"}},
			[]string{stateFine, "attention source: GitRepository team-a/infra does not exist. The stack waits for it, but can be deleted without it."}},
		"a source that is not ready": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "Bucket team-a/b", Found: true, Message: "no such host"}},
			[]string{stateFine, "attention source: Bucket team-a/b has no artifact (no such host). The stack waits for it."}},
		"a source that may not be read": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "Bucket team-a/b", Problem: "forbidden"}},
			[]string{stateFine, "attention source: Cannot read Bucket team-a/b: forbidden"}},
		"a source of somebody else": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "Bucket b/b", Found: true, Artifact: true, OtherNamespace: true}},
			[]string{stateFine, "note source: Bucket b/b is in another namespace. Allow that on the server: | yuba controller --allow-cross-namespace"}},
		"a plan that waits": {Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.Plan.Pending = "plan-main-1" }), State: readable()},
			[]string{stateFine, "note plan: Plan plan-main-1 is pending. Yuba shows it until the new plan is made, and does not apply it."}},
		"a plan that is approved": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.Plan.Pending, t.Spec.ApprovePlan = "plan-main-1", "plan-main-1" }), State: readable()},
			[]string{stateFine, "note plan: Plan plan-main-1 is pending, and spec.approvePlan names it. Yuba makes a new plan and does not apply that one, because tofu-controller " +
				"does not expose its content. Approve the new plan."}},
		"outputs in a Secret of somebody's": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "out"}
			}), State: readable(), OutputsOwner: "nobody"},
			[]string{stateFine, "attention outputs: Secret out belongs to nobody. Yuba does not overwrite it. The stack does not become Ready until that Secret is deleted " +
				"or spec.writeOutputsToSecret names another one."}},
		"a plan of Yuba": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.Plan.Pending, t.Status.Plan.Digest = "plan-main-1", "sha256:1" }), State: readable()},
			[]string{stateFine, "fine plan: Plan plan-main-1, which Yuba made, stays pending."}},
		"a stack that applies by itself": {Facts{Stack: stack(func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "auto" }), State: readable()},
			[]string{stateFine, "note mode: spec.approvePlan is auto: if the first plan finds changes, Yuba applies them at once. To review first: | yuba suspend vpc -n team-a"}},
		"a stack that is suspended": {Facts{Stack: stack(func(t *infrav1.Terraform) { t.Spec.ApprovePlan, t.Spec.Suspend = "auto", true }), State: readable()},
			[]string{stateFine, "note mode: The stack is suspended, and stays suspended."}},
		"a stack that is being deleted": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.DeletionTimestamp, t.Spec.DestroyResourcesOnDeletion = &metav1.Time{Time: before}, true
			}), State: readable()},
			[]string{stateFine, "note deletion: The stack has been in deletion since 2026-01-02T13:34:05Z (1h30m0s ago). Yuba continues, and destroys its resources."}},
		"a stack that is being deleted and destroys nothing needs nothing": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.DeletionTimestamp = &metav1.Time{Time: before} }), State: &State{}, Source: &Source{}, Lock: lock},
			[]string{"note deletion: The stack has been in deletion since 2026-01-02T13:34:05Z (1h30m0s ago). Yuba continues; its resources stay."}},
		"fields of Pods": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.ServiceAccountName = "deployer"
				t.Spec.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{Image: "mine"}}
			}), State: readable()},
			[]string{stateFine, "note fields: No effect, because runs are not Pods: spec.serviceAccountName, spec.runnerPodTemplate.spec.image."}},
		"what tofu-controller leaves": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Finalizers = append(t.Finalizers, "tf.dependency.of.dns", "example.org/mine")
			}), State: readable(), OldPlans: []string{"Secret tfplan-default-vpc"}},
			[]string{stateFine, "note old plans: Plans of tofu-controller stay, and are deleted with the stack: Secret tfplan-default-vpc.",
				"note finalizers: Kept for dns: Yuba checks dependants itself, and removes unneeded finalizers.",
				"note finalizers: Not tofu-controller's, unchanged: example.org/mine."}},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.facts.Now = now
			got := Examine(test.facts)
			if diff := cmp.Diff(test.want, lines(got.Findings)); diff != "" {
				t.Error(diff)
			}
			if want := needsAttention(got.Findings); got.Attention != want || got.Namespace != "team-a" || got.Name != "vpc" {
				t.Errorf("report %+v", got)
			}
		})
	}
}

func lines(findings []Finding) []string {
	var text []string
	for _, f := range findings {
		line := fmt.Sprintf("%s %s: %s", f.Level, f.Subject, f.Message)
		if f.Command != "" {
			line += " | " + f.Command
		}
		text = append(text, line)
	}
	return text
}

func TestWhatIsSaidOfTheAPI(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts APIFacts
		want  []string
	}{
		"all is well": {APIFacts{SourceHosts: []string{"artifacts.example.org"}}, nil},
		"a controller runs": {APIFacts{Controllers: []Workload{{"flux-system", "tofu-controller", "1 ready Pod"}}, Leaders: []Workload{{"flux-system", "lease", "pod-1"}}},
			[]string{"attention controller: tofu-controller runs: Deployment flux-system/tofu-controller, 1 ready Pod. Two controllers must not work on the same stacks. Stop it first:" +
				" | kubectl -n flux-system scale deployment tofu-controller --replicas=0",
				"attention controller: A tofu-controller is active: pod-1 holds the Lease flux-system/lease. Yuba does not start before it has ended."}},
		"the kind is another one": {APIFacts{KindIsOlder: true},
			[]string{"attention kind: The API serves tofu-controller's version of the kind, which drops fields that Yuba writes to the status. Install Yuba's version, which has all of its fields:" +
				" | yuba crds install"}},
		"Yuba is there": {APIFacts{Yuba: "build7:/data"}, []string{"fine controller: Yuba already runs on this API: build7:/data."}},
		"artifacts inside": {APIFacts{SourceHosts: []string{"source-controller.flux-system.svc.cluster.local.", "a.b.svc:80"}},
			[]string{"note source: Artifacts are served at source-controller.flux-system.svc.cluster.local., which only machines of the cluster can reach. Run Yuba on one of them, or give its machine a route to the cluster and its DNS.",
				"note source: Artifacts are served at a.b.svc:80, which only machines of the cluster can reach. Run Yuba on one of them, or give its machine a route to the cluster and its DNS."}},
		"something is unknown": {APIFacts{Unknown: []string{"x"}}, []string{"attention controller: x"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines(ExamineAPI(test.facts))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
