// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
	"github.com/yuba-dev/yuba/internal/testkit/tenanttest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// movers are two homes.
type movers struct{ a, b *yuba }

func newMovers(t *testing.T) movers {
	t.Helper()
	return movers{a: alone(t), b: alone(t)}
}

// move moves a namespace, and returns the summary.
func move(t *testing.T, from, to *yuba, args ...string) steps.Summary {
	t.Helper()
	out, _ := from.do(t, append([]string{"move", "--from", from.dir, "--to", to.kubeconfig(), "--yes", "-o", "json"}, args...)...)
	var summary steps.Summary
	if err := json.Unmarshal([]byte(out), &summary); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	return summary
}

// firstPasses are the results of the first passes.
func firstPasses(s steps.Summary) map[string]string {
	all := map[string]string{}
	for _, stack := range s.Stacks {
		all[stack.Name] = stack.Pass
	}
	return all
}

func (y *yuba) stack(t *testing.T, ns, name string) *infrav1.Terraform {
	t.Helper()
	obj := &infrav1.Terraform{}
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

func (y *yuba) runIDs(t *testing.T, ns, name string) []string {
	t.Helper()
	list, err := y.content(t).Runs(t.Context(), ns, name, 100)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range list.Items {
		ids = append(ids, r.Spec.ID)
	}
	return ids
}

// manifests of the Kustomization that moves.
var movedManifests = gittest.Files{
	"kustomization.yaml": "resources: [stack.yaml, settings.yaml]\n",
	"settings.yaml":      "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: from-git}\ndata: {name: git}\n",
	"stack.yaml": `apiVersion: infra.contrib.fluxcd.io/v1alpha2
kind: Terraform
metadata: {name: from-git}
spec:
  interval: 1h
  approvePlan: auto
  destroyResourcesOnDeletion: true
  varsFrom: [{kind: ConfigMap, name: from-git}]
  path: ./code
  sourceRef: {kind: GitRepository, name: repo}
`,
	"code/main.tf": greeting,
}

// A namespace with everything moves to another home and back. Nothing is created again, and nothing
// runs that has no reason to.
func TestNamespaceMovesToAnotherHomeAndBack(t *testing.T) {
	m := newMovers(t)
	const ns = "team"
	m.a.create(t, namespaceObject(ns))
	m.a.create(t, secretOf(ns, "credentials", map[string]string{"password": "secret"}), configMap(ns, "rows", map[string]string{"rows.csv": "id,url,active,plan\nacme,acme.example.com,1,pro\n"}))
	repo := gittest.New(t).Repository(t, "moved")
	repo.Commit(t, "the beginning", movedManifests)
	source := m.a.gitRepository(t, ns, "repo", repo.URL())
	kustomization := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "all"}, Spec: kustomizev1.KustomizationSpec{
		Interval: metav1.Duration{Duration: time.Hour}, Prune: true, TargetNamespace: ns, SourceRef: kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: source}}}
	m.a.create(t, kustomization)
	h := &tenanttest.Home{Client: m.a.client, Namespace: ns, Log: m.a.logTail}
	h.Apply(t, tenanttest.Registry("customers", "    type: configMap\n    syncInterval: 1s\n    configMap: {name: rows, key: rows.csv}"))
	h.Apply(t, settingsTemplate)

	base := inline(ns, "base", greeting, variable("name", "world"), auto, outputsTo("base-out"), destroying)
	user := inline(ns, "user", "variable \"greeting\" {}\nresource \"terraform_data\" \"a\" { input = var.greeting }\n", auto, varsFrom("Secret", "base-out"))
	user.Spec.DependsOn = []meta.NamespacedObjectReference{{Name: "base"}}
	first := inline(ns, "first", greeting, variable("name", "later"))
	pending := inline(ns, "pending", greeting, variable("name", "one"))
	paused := inline(ns, "paused", greeting, variable("name", "x"), auto)
	m.a.push(t, ns, "code", map[string]string{"main.tf": greeting})
	pushedStack := pushed(ns, "pushed", "code", variable("name", "y"), auto)
	m.a.create(t, base, user, first, pending, paused, pushedStack)
	for _, obj := range []*infrav1.Terraform{base, user, paused, pushedStack, stack(ns, "from-git")} {
		m.a.await(t, obj, "it is ready", ready)
	}
	m.a.await(t, first, "its first plan waits", waiting)
	m.a.await(t, pending, "it waits", waiting)
	approve(t, m.a, pending)
	m.a.await(t, pending, "it is applied", ready)
	change(t, m.a, pending, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw, o.Spec.ApprovePlan = []byte(`"two"`), "" })
	m.a.await(t, pending, "its change waits", waiting)
	change(t, m.a, paused, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	h.AwaitReady(t, "acme-web")
	applied := []string{"base", "user", "pending", "paused", "pushed", "from-git"}
	ids, runs := map[string]string{}, map[string][]string{}
	for _, name := range applied {
		ids[name] = firstID(t, m.a.state(t, m.a.stack(t, ns, name)))
	}
	for _, name := range append(applied, "first") {
		runs[name] = m.a.runIDs(t, ns, name)
	}

	// A lock of somebody else is not moved.
	m.a.lockState(t, base, state.LockInfo{ID: legacyLock, Who: "ci@build7"})
	out, _, code := m.a.run(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--yes")
	if code != 5 || !strings.Contains(out, "blocked") || !strings.Contains(out, "ci@build7 holds the lock") {
		t.Fatalf("a locked stack: code %d\n%s", code, out)
	}
	m.a.do(t, "force-unlock", ns+"/base", "--lock-id", legacyLock)
	before := m.a.versionOf(t, ns)
	if out, _ := m.a.do(t, "move", "--from", m.a.dir, "--to", m.b.kubeconfig(), "-n", ns, "--dry-run"); !strings.Contains(out, "create    Terraform from-git") || !strings.Contains(out, "(new at ") {
		t.Errorf("the dry run says:\n%s", out)
	}
	if diff := cmp.Diff(before, m.a.versionOf(t, ns)); diff != "" {
		t.Errorf("the dry run changed something:\n%s", diff)
	}

	summary := move(t, m.a, m.b, "-n", ns)
	want := map[string]string{"base": steps.PassUnchanged, "user": steps.PassUnchanged, "first": steps.PassPending, "pending": steps.PassPending, "paused": steps.PassSuspended,
		"pushed": steps.PassUnchanged, "from-git": steps.PassUnchanged}
	if diff := cmp.Diff(want, firstPasses(summary)); diff != "" {
		t.Fatalf("first passes (-want +got):\n%s\n%+v\n%s", diff, summary.Stacks, m.b.logTail())
	}
	for _, name := range applied {
		if got := firstID(t, m.b.state(t, m.b.stack(t, ns, name))); got != ids[name] {
			t.Errorf("%s was created again: %s, it was %s", name, got, ids[name])
		}
	}
	for name, want := range runs {
		if diff := cmp.Diff(want, m.b.runIDs(t, ns, name)); diff != "" {
			t.Errorf("runs of %s (-want +got):\n%s", name, diff)
		}
		if log, _ := m.b.do(t, "logs", name, "-n", ns, "--run", want[len(want)-1]); log == "" {
			t.Errorf("%s has no log", name)
		}
	}
	if diff := cmp.Diff(m.a.secret(t, ns, "credentials"), m.b.secret(t, ns, "credentials")); diff != "" {
		t.Errorf("the Secret (-want +got):\n%s", diff)
	}
	m.b.ownedHere(t, ns)
	hb := &tenanttest.Home{Client: m.b.client, Namespace: ns, Log: m.b.logTail}
	hb.AwaitReady(t, "acme-web")
	m.b.eventually(t, "the Kustomization is ready", func() string { return m.b.kustomizationNotReady(t, ns, "all") })

	// The pending plans are applied as they are.
	for _, name := range []string{"pending", "first"} {
		obj := m.b.stack(t, ns, name)
		plan := obj.Status.Plan
		approve(t, m.b, obj)
		seen := m.b.await(t, obj, "it is applied", ready)
		run, err := m.b.content(t).Run(t.Context(), ns, name, seen.Status.LastRun.ID)
		if err != nil {
			t.Fatal(err)
		}
		if run.Spec.Operation != "apply" || run.Spec.Plan == nil || run.Spec.Plan.RunID != plan.RunID || run.Spec.Plan.Digest != plan.Digest {
			t.Errorf("%s: run %s is %s of %+v, want the apply of %+v", name, run.Spec.ID, run.Spec.Operation, run.Spec.Plan, plan)
		}
	}
	if got := firstID(t, m.b.state(t, m.b.stack(t, ns, "pending"))); got != ids["pending"] {
		t.Errorf("the change created pending again: %s, it was %s", got, ids["pending"])
	}

	m.copiesAreHarmless(t, ns, ids)

	// And back, with what has changed meanwhile.
	summary = move(t, m.b, m.a, "-n", ns)
	want["first"], want["pending"] = steps.PassUnchanged, steps.PassUnchanged
	if diff := cmp.Diff(want, firstPasses(summary)); diff != "" {
		t.Fatalf("first passes at home (-want +got):\n%s\n%+v", diff, summary.Stacks)
	}
	for _, name := range applied {
		if got := firstID(t, m.a.state(t, m.a.stack(t, ns, name))); got != ids[name] {
			t.Errorf("%s was created again on the way back: %s, it was %s", name, got, ids[name])
		}
	}
	if !m.a.stack(t, ns, "base").Spec.DestroyResourcesOnDeletion || !m.a.kustomization(t, ns, "all").Spec.Prune {
		t.Error("fields that protected the copies were not restored")
	}
	if again := move(t, m.b, m.a, "-n", ns); len(again.Stacks) > 0 || again.Counts["create"]+again.Counts["update"] > 0 {
		t.Errorf("once more: %+v", again)
	}
	m.a.ownedHere(t, ns)
	h.AwaitReady(t, "acme-web")
	change(t, m.a, m.a.stack(t, ns, "base"), func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"home"`) })
	m.a.await(t, base, "it works at home", func(o *infrav1.Terraform) bool {
		return ready(o) && bytes.Contains(m.a.state(t, base), []byte("hello home"))
	})
}

// copiesAreHarmless checks that the copies at A run nothing and destroy nothing.
func (m movers) copiesAreHarmless(t *testing.T, ns string, ids map[string]string) {
	t.Helper()
	copied := m.a.stack(t, ns, "user")
	runs := m.a.runIDs(t, ns, "user")
	change(t, m.a, copied, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
	seen := m.a.await(t, copied, "it says where it is", failedWith(infrav1.ReasonMoved))
	if message := condition(seen, infrav1.ConditionReady).Message; !strings.Contains(message, "Moved to "+m.b.kubeconfig()) {
		t.Errorf("it says %q", message)
	}
	if out, news, code := m.a.run(t, "state", "rm", "user", "terraform_data.a", "-n", ns, "--yes"); code == 0 || !strings.Contains(news, "Moved to") {
		t.Errorf("the state of a copy was changed: %d\n%s%s", code, out, news)
	}
	if diff := cmp.Diff(runs, m.a.runIDs(t, ns, "user")); diff != "" {
		t.Errorf("a copy ran (-want +got):\n%s", diff)
	}
	change(t, m.a, copied, func(o *infrav1.Terraform) { o.Spec.Suspend = true })

	all := m.a.kustomization(t, ns, "all")
	change(t, m.a, all, func(k *kustomizev1.Kustomization) {
		k.Spec.Suspend, k.Spec.Prune, k.Spec.DeletionPolicy = false, true, ""
	})
	m.a.eventually(t, "the copy of the Kustomization says where it is", func() string {
		if why := m.a.kustomizationNotReady(t, ns, "all"); !strings.Contains(why, "Moved to") {
			return "it says " + why
		}
		return ""
	})
	m.a.delete(t, all)
	m.a.eventually(t, "the copy of the Kustomization is gone", func() string {
		if err := m.a.client.Get(t.Context(), client.ObjectKeyFromObject(all), all); !apierrors.IsNotFound(err) {
			return "it is still there"
		}
		return ""
	})
	if copied := m.a.stack(t, ns, "from-git"); copied.DeletionTimestamp != nil {
		t.Error("the deletion of the copy of a Kustomization deleted its stack")
	}

	registry := &tenantv1.TenantRegistry{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "customers"}}
	m.a.delete(t, registry)
	gone := m.a.stack(t, ns, "paused")
	change(t, m.a, gone, func(o *infrav1.Terraform) { o.Spec.DestroyResourcesOnDeletion, o.Spec.Suspend = true, false })
	m.a.delete(t, gone)
	m.a.awaitGone(t, gone)
	if got := firstID(t, m.b.state(t, m.b.stack(t, ns, "paused"))); got != ids["paused"] {
		t.Errorf("the deletion of a copy changed the state: %s", got)
	}
	if got := firstID(t, m.a.state(t, gone)); got != ids["paused"] {
		t.Errorf("the deletion of a copy destroyed its resources: %s", got)
	}
	var tenant tenantv1.Tenant
	if err := m.a.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "acme-web"}, &tenant); err != nil || tenant.DeletionTimestamp != nil {
		t.Errorf("the deletion of the copy of a registry deleted its tenant: %v", err)
	}
}

// ownedHere checks that every owner exists, and nothing is marked.
func (y *yuba) ownedHere(t *testing.T, ns string) {
	t.Helper()
	var secrets corev1.SecretList
	var maps corev1.ConfigMapList
	var stacks infrav1.TerraformList
	var tenants tenantv1.TenantList
	for _, list := range []client.ObjectList{&secrets, &maps, &stacks, &tenants} {
		if err := y.client.List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
	}
	uids := map[string]bool{}
	var owned []metav1.ObjectMeta
	for _, o := range stacks.Items {
		uids[string(o.UID)] = true
		owned = append(owned, o.ObjectMeta)
	}
	for _, o := range tenants.Items {
		uids[string(o.UID)] = true
		owned = append(owned, o.ObjectMeta)
	}
	for _, o := range secrets.Items {
		owned = append(owned, o.ObjectMeta)
	}
	for _, o := range maps.Items {
		owned = append(owned, o.ObjectMeta)
	}
	for _, o := range owned {
		if moving.Held(&o) != "" {
			t.Errorf("%s is still marked: %v", o.Name, o.Annotations)
		}
		for _, ref := range o.OwnerReferences {
			if !uids[string(ref.UID)] {
				t.Errorf("%s is owned by %s %s with a uid of another home", o.Name, ref.Kind, ref.Name)
			}
		}
		for _, owner := range state.OwnershipOf(&o).Owners {
			if !uids[owner.UID] {
				t.Errorf("the state in %s belongs to %s of another home", o.Name, owner.Name)
			}
		}
	}
}

// versionOf are the resource versions of a namespace's objects.
func (y *yuba) versionOf(t *testing.T, ns string) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, list := range []client.ObjectList{&corev1.SecretList{}, &corev1.ConfigMapList{}, &infrav1.TerraformList{}} {
		if err := y.client.List(t.Context(), list, client.InNamespace(ns)); err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(list)
		if err != nil {
			t.Fatal(err)
		}
		var items struct {
			Items []metav1.PartialObjectMetadata
		}
		if err := json.Unmarshal(data, &items); err != nil {
			t.Fatal(err)
		}
		for _, o := range items.Items {
			all[string(o.UID)+" "+o.Name] = o.ResourceVersion
		}
	}
	return all
}

func (y *yuba) kustomization(t *testing.T, ns, name string) *kustomizev1.Kustomization {
	t.Helper()
	k := &kustomizev1.Kustomization{}
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: name}, k); err != nil {
		t.Fatal(err)
	}
	return k
}

func (y *yuba) kustomizationNotReady(t *testing.T, ns, name string) string {
	t.Helper()
	k := y.kustomization(t, ns, name)
	for _, c := range k.Status.Conditions {
		if c.Type == "Ready" && c.Status == metav1.ConditionTrue && k.Status.ObservedGeneration == k.Generation {
			return ""
		}
	}
	data, _ := json.Marshal(k.Status) //nolint:errcheck // it is one
	return string(data)
}

// gitRepository creates a GitRepository of a public repository.
func (y *yuba) gitRepository(t *testing.T, ns, name, url string) string {
	t.Helper()
	manifest := "apiVersion: source.toolkit.fluxcd.io/v1\nkind: GitRepository\nmetadata: {name: " + name + ", namespace: " + ns + "}\nspec: {interval: 1h, url: \"" + url + "\", ref: {branch: main}}\n"
	file := filepath.Join(t.TempDir(), "source.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	y.do(t, "kubectl", "apply", "-f", file)
	return name
}

// eventually waits until nothing is wrong.
func (y *yuba) eventually(t *testing.T, sentence string, wrong func() string) {
	t.Helper()
	deadline, last := time.Now().Add(patience), ""
	for time.Now().Before(deadline) {
		if last = wrong(); last == "" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	t.Fatalf("%s, and that did not come about: %s\n%s", sentence, last, y.logTail())
}
