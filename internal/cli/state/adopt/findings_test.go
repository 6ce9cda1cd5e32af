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

const stateFine = "fine state: Secret tfstate-default-vpc is used as it is: serial 7, 34 resources, 12 KiB."

func TestWhatHappensToAStack(t *testing.T) {
	lock := &state.LockInfo{ID: "1-2", Who: "runner@vpc-tf-runner", Operation: "OperationTypeApply", Created: before}
	for sentence, test := range map[string]struct {
		facts Facts
		want  []string
	}{
		"a state that is there is used": {Facts{Stack: stack(), State: readable()}, []string{stateFine}},
		"a stack without a state begins one": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.LastAppliedRevision = "" }), State: &State{Secret: "tfstate-default-vpc"}},
			[]string{"fine state: There is none yet; the first apply begins it in Secret tfstate-default-vpc."}},
		"an applied stack without a state waits": {Facts{Stack: stack(), State: &State{Secret: "tfstate-default-vpc"}},
			[]string{"attention state: The stack has been applied, and its state is not there: Secret tfstate-default-vpc is missing. Nothing runs until it is back, because everything would be created once more."}},
		"a state that cannot be read": {Facts{Stack: stack(), State: &State{Secret: "tfstate-default-vpc", Found: true, Unreadable: "it is empty"}},
			[]string{"attention state: Secret tfstate-default-vpc holds no state that can be read: it is empty. Nothing runs until it does."}},
		"a state that may not be read": {Facts{Stack: stack(), State: &State{Secret: "tfstate-default-vpc", Unknown: "forbidden"}},
			[]string{"attention state: Secret tfstate-default-vpc could not be read, so nothing is known of the state: forbidden"}},
		"an encrypted state": {Facts{Stack: stack(), State: &State{Secret: "s", Found: true, Encrypted: true}},
			[]string{"fine state: Secret s, encrypted by OpenTofu, is used as it is."}},
		"a state that Yuba keeps": {Facts{Stack: stack(), State: &State{Secret: "s", Found: true, Elsewhere: true}},
			[]string{"fine state: Yuba keeps it already; Secret s says where."}},
		"a backend of its own": {Facts{Stack: stack()},
			[]string{"fine state: The backend that the stack names keeps the state, and is used as it is."}},
		"two stacks with one state": {
			Facts{Stack: stack(), State: readable(), Sharers: []*infrav1.Terraform{stack(func(t *infrav1.Terraform) { t.Name = "twin" }),
				stack(func(t *infrav1.Terraform) { t.Name, t.Spec.PlanOnly = "vpc-pr-7", true })}},
			[]string{stateFine, "attention state: It is also the state of team-a/twin. Only one of them may have it; give the others a backendConfig.secretSuffix or workspace of their own."}},
		"a plan of the branch planner shares the state": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Spec.PlanOnly = true }), State: readable(), Sharers: []*infrav1.Terraform{stack()}},
			[]string{stateFine}},
		"a lock that is held": {Facts{Stack: stack(), State: readable(), Lock: lock},
			[]string{stateFine, "attention lock: runner@vpc-tf-runner holds it since 2026-01-02T13:34:05Z (1h30m0s ago), for OperationTypeApply. " +
				"Whether that is still at work nobody can tell from here; Yuba waits, and plans and applies nothing meanwhile. When it is gone, release the lock once Yuba runs:" +
				" | yuba force-unlock vpc -n team-a --lock-id 1-2"}},
		"a lock without details": {Facts{Stack: stack(), State: readable(), Lock: &state.LockInfo{ID: "1-2"}},
			[]string{stateFine, "attention lock: Somebody unnamed holds it since nobody knows when, for something unnamed. " +
				"Whether that is still at work nobody can tell from here; Yuba waits, and plans and applies nothing meanwhile. When it is gone, release the lock once Yuba runs:" +
				" | yuba force-unlock vpc -n team-a --lock-id 1-2"}},
		"a lock that is to be broken": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.TFState = &infrav1.TFStateSpec{ForceUnlock: infrav1.ForceUnlockAuto}
			}), State: readable(), Lock: lock},
			[]string{stateFine, "note lock: runner@vpc-tf-runner holds it since 2026-01-02T13:34:05Z (1h30m0s ago). It is broken, because spec.tfstate says so."}},
		"another lock is to be broken": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.TFState = &infrav1.TFStateSpec{ForceUnlock: infrav1.ForceUnlockYes, LockIdentifier: "other"}
			}), State: readable(), LockProblem: "forbidden"},
			[]string{stateFine, "attention lock: Who holds the lock is not known: forbidden"}},
		"a source that is missing": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "GitRepository team-a/infra"}},
			[]string{stateFine, "attention source: GitRepository team-a/infra does not exist. The stack waits for it; it can be deleted without."}},
		"a source that is not ready": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "Bucket team-a/b", Found: true, Message: "no such host"}},
			[]string{stateFine, "attention source: Bucket team-a/b has no artifact (no such host). The stack waits for it."}},
		"a source that may not be read": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "Bucket team-a/b", Problem: "forbidden"}},
			[]string{stateFine, "attention source: Bucket team-a/b could not be read: forbidden"}},
		"a source of somebody else": {Facts{Stack: stack(), State: readable(), Source: &Source{Name: "Bucket b/b", Found: true, Artifact: true, OtherNamespace: true}},
			[]string{stateFine, "note source: Bucket b/b is in another namespace, which the server must allow: | yuba controller --allow-cross-namespace"}},
		"a plan that waits": {Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.Plan.Pending = "plan-main-1" }), State: readable()},
			[]string{stateFine, "note plan: Plan plan-main-1 waits. It is shown until Yuba has planned anew, and never applied itself."}},
		"a plan that is approved": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.Plan.Pending, t.Spec.ApprovePlan = "plan-main-1", "plan-main-1" }), State: readable()},
			[]string{stateFine, "note plan: Plan plan-main-1 waits, and spec.approvePlan names it. It is planned anew and never applied itself, because tofu-controller " +
				"does not say what is in it. The new plan is to be approved once more."}},
		"outputs in a Secret of somebody's": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "out"}
			}), State: readable(), OutputsOwner: "nobody"},
			[]string{stateFine, "attention outputs: Secret out belongs to nobody. Yuba does not overwrite it, and the stack is not Ready until that Secret is deleted " +
				"or spec.writeOutputsToSecret names another one."}},
		"a plan of Yuba": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.Status.Plan.Pending, t.Status.Plan.Digest = "plan-main-1", "sha256:1" }), State: readable()},
			[]string{stateFine, "fine plan: Plan plan-main-1, which Yuba made, goes on waiting."}},
		"a stack that applies by itself": {Facts{Stack: stack(func(t *infrav1.Terraform) { t.Spec.ApprovePlan = "auto" }), State: readable()},
			[]string{stateFine, "note mode: spec.approvePlan is auto: if the first plan finds changes, they are applied at once. To look before: | yuba suspend vpc -n team-a"}},
		"a stack that is suspended": {Facts{Stack: stack(func(t *infrav1.Terraform) { t.Spec.ApprovePlan, t.Spec.Suspend = "auto", true }), State: readable()},
			[]string{stateFine, "note mode: It is suspended, and stays so."}},
		"a stack that is being deleted": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.DeletionTimestamp, t.Spec.DestroyResourcesOnDeletion = &metav1.Time{Time: before}, true
			}), State: readable()},
			[]string{stateFine, "note deletion: It is being deleted since 2026-01-02T13:34:05Z (1h30m0s ago). Yuba goes on with that, and destroys what the stack manages."}},
		"a stack that is being deleted and destroys nothing needs nothing": {
			Facts{Stack: stack(func(t *infrav1.Terraform) { t.DeletionTimestamp = &metav1.Time{Time: before} }), State: &State{}, Source: &Source{}, Lock: lock},
			[]string{"note deletion: It is being deleted since 2026-01-02T13:34:05Z (1h30m0s ago). Yuba goes on with that; what the stack manages stays."}},
		"fields of Pods": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Spec.ServiceAccountName = "deployer"
				t.Spec.RunnerPodTemplate = &infrav1.RunnerPodTemplate{Spec: infrav1.RunnerPodSpec{Image: "mine"}}
			}), State: readable()},
			[]string{stateFine, "note fields: Without effect, because runs are no Pods: spec.serviceAccountName, spec.runnerPodTemplate.spec.image."}},
		"what tofu-controller leaves": {
			Facts{Stack: stack(func(t *infrav1.Terraform) {
				t.Finalizers = append(t.Finalizers, "tf.dependency.of.dns", "example.org/mine")
			}), State: readable(), OldPlans: []string{"Secret tfplan-default-vpc"}},
			[]string{stateFine, "note old plans: Plans of tofu-controller are left as they are, and go with the stack: Secret tfplan-default-vpc.",
				"note finalizers: Kept for dns: Yuba looks itself at what depends on it, and removes what is not needed.",
				"note finalizers: Not tofu-controller's, and left alone: example.org/mine."}},
	} {
		t.Run(sentence, func(t *testing.T) {
			test.facts.Now = now
			got := Examine(test.facts)
			if diff := cmp.Diff(test.want, lines(got.Findings)); diff != "" {
				t.Error(diff)
			}
			if want := needsAHand(got.Findings); got.Attention != want || got.Namespace != "team-a" || got.Name != "vpc" {
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
				"attention controller: A tofu-controller is alive: pod-1 holds the Lease flux-system/lease. Yuba does not start before that has ended."}},
		"the kind is another one": {APIFacts{KindIsOlder: true},
			[]string{"attention kind: The API serves tofu-controller's version of the kind, which would drop what Yuba writes into the status. Install Yuba's, which has all of its fields:" +
				" | kubectl apply --server-side --force-conflicts -f config/crd"}},
		"Yuba is there": {APIFacts{Yuba: "build7:/data"}, []string{"fine controller: Yuba works on this API already: build7:/data."}},
		"artifacts inside": {APIFacts{SourceHosts: []string{"source-controller.flux-system.svc.cluster.local.", "a.b.svc:80"}},
			[]string{"note source: Artifacts are served at source-controller.flux-system.svc.cluster.local., which only machines of the cluster reach. The machine that Yuba runs on must be one, or reach it by a route and the cluster's DNS.",
				"note source: Artifacts are served at a.b.svc:80, which only machines of the cluster reach. The machine that Yuba runs on must be one, or reach it by a route and the cluster's DNS."}},
		"something is unknown": {APIFacts{Unknown: []string{"x"}}, []string{"attention controller: x"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(test.want, lines(ExamineAPI(test.facts))); diff != "" {
				t.Error(diff)
			}
		})
	}
}
