// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/faulttest"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The environments of the example.
const (
	stageA, productionA = "tenant-a-stage", "tenant-a-production"
	stageB, productionB = "tenant-b-stage", "tenant-b-production"
)

var layers = []string{"account", "network", "cluster"}

// apps are the stacks of each environment, in a valid order of applies.
var apps = map[string][]string{
	stageA: {"account", "network", "cluster", "foo", "bar"}, productionA: {"account", "network", "cluster", "foo", "bar"},
	stageB: {"account", "network", "cluster", "foo", "bar"}, productionB: {"account", "network", "cluster", "foo"},
}

// The example, starting with an empty Yuba. Each step continues from the previous one, as in the
// life of a platform.
func TestExampleAtReasonableScale(t *testing.T) {
	t.Parallel()
	l := newLandscape(t)
	for _, step := range []struct {
		sentence string
		try      func(*testing.T, *landscape)
	}{
		{"everything comes up in order", everythingComesUp},
		{"a new version reaches those who follow it", newVersionIsFollowed},
		{"production moves when the central repository says so", productionIsMoved},
		{"a broken version shows where it broke", brokenVersionIsShown},
		{"a broken manifest stops nothing", brokenManifestIsShown},
		{"what was fetched keeps serving while nothing can be reached", outageIsSurvived},
		{"a restart runs nothing again", restartRunsNothing},
		{"an app that is taken away destroys what it made", appIsTakenAway},
		{"an environment that is taken away goes in order", environmentIsTakenAway},
	} {
		if !t.Run(step.sentence, func(t *testing.T) { step.try(t, l) }) {
			t.Fatalf("Everything:\n%s", l.everything(t))
		}
	}
}

func everythingComesUp(t *testing.T, l *landscape) {
	for _, tenant := range []string{"tenant-a", "tenant-b"} {
		for _, environment := range []string{"stage", "production"} {
			l.bootstrap(t, tenant, environment)
		}
	}
	for _, ns := range []string{stageA, stageB} {
		for _, app := range apps[ns] {
			l.await(t, stack(ns, app), "it is applied automatically", applies(firstVersions[app]))
		}
		l.inOrder(t, ns)
	}
	// In production, a person reviews each plan, and dependent stacks wait for that.
	for _, ns := range []string{productionA, productionB} {
		for _, app := range apps[ns] {
			l.approveNext(t, ns, app, firstVersions[app])
		}
		l.inOrder(t, ns)
	}
	var want []string
	for _, ns := range []string{"tenant-a/production", "tenant-a/stage", "tenant-b/production", "tenant-b/stage"} {
		for _, app := range []string{"account", "bar", "cluster", "foo", "network"} {
			if ns != "tenant-b/production" || app != "bar" {
				want = append(want, ns+"/stacks/"+app+".tfstate")
			}
		}
	}
	if diff := cmp.Diff(want, l.states.Paths()); diff != "" {
		t.Errorf("the states in the backend (-want +got):\n%s", diff)
	}
	// The same code has determined its environment.
	for ns, class := range map[string]string{stageA: "db.t4g.medium", productionA: "db.r6g.large", stageB: "db.t4g.medium", productionB: "db.r6g.medium"} {
		if got := string(l.secret(t, ns, "foo-outputs")["runtime"]); !strings.Contains(got, `"`+class+`"`) {
			t.Errorf("the database of foo in %s is %s, want %s", ns, got, class)
		}
	}
	// One service reads what another has published.
	l.eventually(t, "bar listens to foo", func() string {
		if got := string(l.secret(t, stageA, "bar-outputs")["bar"]); !strings.Contains(got, "tenant-a-stage-foo-events") {
			return got
		}
		return ""
	})
	if got := l.git.Counts("central"); got.Clones != 1 {
		t.Errorf("four environments made %d clones", got.Clones)
	}
	l.standsStill(t)
}

// inOrder checks that no layer began before the one below it had ended.
func (l *landscape) inOrder(t *testing.T, ns string) {
	t.Helper()
	var before *infrav1.Terraform
	for _, app := range append(layers[:len(layers):len(layers)], "foo") {
		now := stack(ns, app)
		if err := l.client.Get(t.Context(), client.ObjectKeyFromObject(now), now); err != nil {
			t.Fatal(err)
		}
		if before != nil && now.Status.LastRun.StartedAt.Before(before.Status.LastRun.FinishedAt) {
			t.Errorf("%s began at %s, and %s ended at %s", name(now), now.Status.LastRun.StartedAt, name(before), before.Status.LastRun.FinishedAt)
		}
		before = now
	}
}

// standsStill reconciles everything again and checks that nothing runs.
func (l *landscape) standsStill(t *testing.T) {
	t.Helper()
	l.eventually(t, "no run is active", func() string {
		for _, o := range l.stacks(t) {
			if !settled(&o) {
				return name(&o) + " has one"
			}
		}
		return ""
	})
	before := l.runs(t)
	l.lookAgain(t)
	l.onlyRan(t, before)
}

func newVersionIsFollowed(t *testing.T, l *landscape) {
	before := l.runs(t)
	l.publish(t, "foo", "0.1.1", map[string]string{"cache.tf": "resource \"terraform_data\" \"cache\" {\n  input = \"cache of ${local.service}\"\n}\n"})
	l.ring(t, stageA, stageB, productionA, productionB)
	for _, ns := range []string{stageA, stageB} {
		l.await(t, stack(ns, "foo"), "it follows", applies("0.1.1"))
	}
	l.lookAgain(t)
	l.onlyRan(t, before, stageA+"/foo", stageB+"/foo")
	for _, ns := range []string{productionA, productionB} {
		l.await(t, stack(ns, "foo"), "it stays with its pinned version", applies("0.1.0"))
	}
}

func productionIsMoved(t *testing.T, l *landscape) {
	before := l.runs(t)
	l.edit(t, "tenant-a's production takes foo 0.1.1", map[string][2]string{
		"environments/tenant-a/production/versions.yaml": {`version_foo_tf: "0.1.0"`, `version_foo_tf: "0.1.1"`}})
	l.ring(t, productionA)
	o := l.await(t, stack(productionA, "foo"), "its plan waits", plans("0.1.1"))
	if got := o.Status.Plan.Summary; got != "+1 ~0 -0" {
		t.Errorf("the plan is %s", got)
	}
	if !strings.HasPrefix(o.Status.LastAppliedRevision, "0.1.0@") {
		t.Errorf("%s is applied before anybody approved", o.Status.LastAppliedRevision)
	}
	l.approveNext(t, productionA, "foo", "0.1.1")
	l.lookAgain(t)
	l.onlyRan(t, before, productionA+"/foo")
	l.await(t, stack(productionB, "foo"), "it keeps its version", applies("0.1.0"))
}

func brokenVersionIsShown(t *testing.T, l *landscape) {
	before := l.runs(t)
	queue := string(l.secret(t, stageA, "foo-outputs")["foo"])
	state := l.states.State("tenant-a/stage/stacks/foo.tfstate")
	l.publish(t, "foo", "0.1.2", map[string]string{"cache.tf": "resource \"terraform_data\" \"cache\" {\n  input = local.servise\n}\n"})
	l.ring(t, stageA, stageB)
	for _, ns := range []string{stageA, stageB} {
		o := l.await(t, stack(ns, "foo"), "it says what is wrong", func(o *infrav1.Terraform) bool {
			return settled(o) && condition(o, infrav1.ConditionReady).Status == metav1.ConditionFalse
		})
		if m := condition(o, infrav1.ConditionReady).Message; !strings.Contains(m, "cache.tf") || !strings.Contains(m, "2") || !strings.Contains(m, "servise") {
			t.Errorf("the message does not say what broke where: %s", m)
		}
		if !strings.HasPrefix(o.Status.LastAppliedRevision, "0.1.1@") {
			t.Errorf("%s is said to be applied", o.Status.LastAppliedRevision)
		}
	}
	out, _, _ := l.run(t, "status", stageA+"/foo")
	if !strings.Contains(out, "cache.tf") || !strings.Contains(out, "local.servise") {
		t.Errorf("yuba status does not show it:\n%s", out)
	}
	if got := string(l.secret(t, stageA, "foo-outputs")["foo"]); got != queue {
		t.Errorf("the outputs changed to %s", got)
	}
	if got := l.states.State("tenant-a/stage/stacks/foo.tfstate"); got != state {
		t.Errorf("the state changed to %s", got)
	}
	l.publish(t, "foo", "0.1.3", map[string]string{"cache.tf": "resource \"terraform_data\" \"cache\" {\n  input = \"cache of ${local.service}\"\n}\n"})
	l.ring(t, stageA, stageB)
	for _, ns := range []string{stageA, stageB} {
		l.await(t, stack(ns, "foo"), "the next version mends it", func(o *infrav1.Terraform) bool {
			return ready(o) && strings.HasPrefix(o.Status.LastPlannedRevision, "0.1.3@")
		})
	}
	l.onlyRan(t, before, stageA+"/foo", stageB+"/foo")
}

// kustomization waits until a Kustomization is as the sentence says.
func (l *landscape) kustomization(t *testing.T, ns, name, sentence string, is func(*kustomizev1.Kustomization, metav1.Condition) bool) *kustomizev1.Kustomization {
	t.Helper()
	var o kustomizev1.Kustomization
	l.eventually(t, "Kustomization "+ns+"/"+name+": "+sentence, func() string {
		if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, &o); err != nil {
			return err.Error()
		}
		c := apimeta.FindStatusCondition(o.Status.Conditions, meta.ReadyCondition)
		if c == nil {
			c = &metav1.Condition{}
		}
		if !is(&o, *c) {
			return string(c.Status) + " " + c.Reason + " " + c.Message
		}
		return ""
	})
	return &o
}

func brokenManifestIsShown(t *testing.T, l *landscape) {
	before := l.runs(t)
	file := "environments/tenant-a/stage/versions.yaml"
	good := readFile(t, l.central.Tree()+"/"+file)
	l.central.Commit(t, "a slip of the pen", gittest.Files{file: strings.Replace(good, "data:", "data\n  oops: [", 1)})
	l.ring(t, stageA)
	o := l.kustomization(t, stageA, "environment", "it says which file is wrong", func(_ *kustomizev1.Kustomization, c metav1.Condition) bool {
		return c.Status == metav1.ConditionFalse && strings.Contains(c.Message, "versions.yaml")
	})
	if m := apimeta.FindStatusCondition(o.Status.Conditions, meta.ReadyCondition).Message; !regexp.MustCompile(`environments/tenant-a/stage/versions\.yaml\D+\d`).MatchString(m) {
		t.Errorf("the message does not say where in the file: %s", m)
	}
	if o.Status.Inventory == nil || len(o.Status.Inventory.Entries) != 6 {
		t.Errorf("the inventory has changed: %v", o.Status.Inventory)
	}
	l.central.Commit(t, "mended", gittest.Files{file: good})
	l.ring(t, stageA)
	head := "main@sha1:" + l.central.Head(t)
	l.kustomization(t, stageA, "environment", "the fixed one is applied", func(o *kustomizev1.Kustomization, c metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && o.Status.LastAppliedRevision == head
	})
	l.onlyRan(t, before)
}

func outageIsSurvived(t *testing.T, l *landscape) {
	before := l.runs(t)
	l.git.SetFault(faulttest.Unreachable)
	l.registry.SetFault(faulttest.Unreachable)
	l.ring(t, stageB)
	key := client.ObjectKey{Namespace: stageB, Name: "central"}
	var repository sourcev1.GitRepository
	l.eventually(t, "the GitRepository says that it cannot be reached", func() string {
		if err := l.client.Get(t.Context(), key, &repository); err != nil {
			return err.Error()
		}
		if apimeta.IsStatusConditionFalse(repository.Status.Conditions, meta.ReadyCondition) {
			return ""
		}
		return "it is Ready"
	})
	if repository.Status.Artifact == nil {
		t.Fatal("its artifact is gone")
	}
	message := apimeta.FindStatusCondition(repository.Status.Conditions, meta.ReadyCondition).Message
	if !strings.Contains(message, "since") || !strings.Contains(message, "still served") {
		t.Errorf("it does not say since when it is stale: %s", message)
	}
	// Stacks continue with the fetched artifact.
	var init corev1.ConfigMap
	if err := l.client.Get(t.Context(), client.ObjectKey{Namespace: stageB, Name: "init"}, &init); err != nil {
		t.Fatal(err)
	}
	change(t, l.yuba, &init, func(c *corev1.ConfigMap) { c.Data["domain"] = "new.example.com" })
	for _, app := range []string{"account", "network", "cluster", "foo", "bar"} {
		l.await(t, stack(stageB, app), "it follows the ConfigMap, or those that do", func(o *infrav1.Terraform) bool {
			return ready(o) && o.Status.LastRun.ID != before[name(o)]
		})
	}
	if got := string(l.secret(t, stageB, "cluster-outputs")["cluster"]); !strings.Contains(got, "https://api.new.example.com") {
		t.Errorf("the cluster is %s", got)
	}
	l.git.SetFault(nil)
	l.registry.SetFault(nil)
	l.ring(t, stageB)
	l.eventually(t, "the GitRepository is ready again", func() string {
		if err := l.client.Get(t.Context(), key, &repository); err != nil {
			return err.Error()
		}
		if apimeta.IsStatusConditionTrue(repository.Status.Conditions, meta.ReadyCondition) {
			return ""
		}
		return "it is not"
	})
	l.standsStill(t)
}

func restartRunsNothing(t *testing.T, l *landscape) {
	before := l.runs(t)
	if err := l.terminate(); err != nil {
		t.Errorf("yuba up ended with %v", err)
	}
	l.restart(t)
	l.standsStill(t)
	l.onlyRan(t, before)
}

// gone waits until an object no longer exists.
func (l *landscape) gone(t *testing.T, obj client.Object) {
	t.Helper()
	l.eventually(t, obj.GetNamespace()+"/"+obj.GetName()+" goes", func() string {
		err := l.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
		if apierrors.IsNotFound(err) {
			return ""
		}
		if err != nil {
			return err.Error()
		}
		return "it is there"
	})
}

func appIsTakenAway(t *testing.T, l *landscape) {
	before := l.runs(t)
	l.edit(t, "tenant-a's stage does without foo", map[string][2]string{"environments/tenant-a/stage/kustomization.yaml": {"  - ../../../apps/foo\n", ""}})
	l.ring(t, stageA)
	meta := metav1.ObjectMeta{Namespace: stageA, Name: "foo"}
	l.gone(t, &kustomizev1.Kustomization{ObjectMeta: meta})
	l.gone(t, &infrav1.Terraform{ObjectMeta: meta})
	l.gone(t, &sourcev1.OCIRepository{ObjectMeta: metav1.ObjectMeta{Namespace: stageA, Name: "foo-iac"}})
	if n := l.states.Resources("tenant-a/stage/stacks/foo.tfstate"); n != 0 {
		t.Errorf("%d resources of foo are left", n)
	}
	// The dependency of bar is optional.
	l.await(t, stack(stageA, "bar"), "it does without foo", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastRun.ID != before[name(o)] && l.states.Resources("tenant-a/stage/stacks/bar.tfstate") == 1
	})
	delete(before, stageA+"/foo")
	l.onlyRan(t, before, stageA+"/bar")
}

func environmentIsTakenAway(t *testing.T, l *landscape) {
	before := l.runs(t)
	entry := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: stageB, Name: "environment"}}
	l.delete(t, entry)
	l.gone(t, entry)
	for _, app := range apps[stageB] {
		l.gone(t, stack(stageB, app))
		if n := l.states.Resources("tenant-b/stage/stacks/" + app + ".tfstate"); n != 0 {
			t.Errorf("%d resources of %s are left", n, app)
		}
		delete(before, stageB+"/"+app)
	}
	l.onlyRan(t, before)
	ns := namespaceObject(stageB)
	if err := l.client.Delete(t.Context(), ns, client.PropagationPolicy(metav1.DeletePropagationBackground)); err != nil {
		t.Fatal(err)
	}
	l.gone(t, ns)
	l.await(t, stack(productionB, "foo"), "its neighbour is as it was", applies("0.1.0"))
}

// The tour on the example's page.
func TestTourOfTheExample(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 5*patience)
	defer cancel()
	tour := exec.CommandContext(ctx, "sh", example("run.sh"))
	tour.Env = append(os.Environ(), "ONCE=1", "WORK="+t.TempDir(), "BIN="+programs+":"+filepath.Dir(tofutest.Tofu(t)), "NO_COLOR=1")
	// Its child processes end with it: it gets a signal, and time to end.
	tour.Cancel = func() error { return tour.Process.Signal(syscall.SIGTERM) }
	tour.WaitDelay = patience
	out, err := tour.CombinedOutput()
	if err != nil {
		t.Fatalf("run.sh: %v\n%s", err, out)
	}
	if !strings.Contains(string(out), "That was the tour.") {
		t.Errorf("it did not come to its end:\n%s", out)
	}
}
