// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

func entriesOf(k *kustomizev1.Kustomization) []string {
	var ids []string
	if k.Status.Inventory != nil {
		for _, e := range k.Status.Inventory.Entries {
			ids = append(ids, e.ID+" "+e.Version)
		}
	}
	slices.Sort(ids)
	return ids
}

func TestARevisionIsAppliedAndWhatItLacksIsPruned(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1") + configMap("two", "2")})
	w.kustomization("app", nil)
	k := w.ready("app", "main@sha1:1")
	if got := conditions.Of(k, meta.ReadyCondition); got.Reason != "ReconciliationSucceeded" || got.Message != "Applied revision: main@sha1:1" {
		t.Errorf("Ready is %s: %s", got.Reason, got.Message)
	}
	if diff := cmp.Diff([]string{w.namespace + "_one__ConfigMap v1", w.namespace + "_two__ConfigMap v1"}, entriesOf(k)); diff != "" {
		t.Errorf("inventory:\n%s", diff)
	}
	if c := conditions.Of(k, meta.ReconcilingCondition); c.Type != "" {
		t.Errorf("it is still reconciling: %s", c.Message)
	}
	if len(k.Status.History) != 1 || k.Status.History[0].Metadata["revision"] != "main@sha1:1" {
		t.Errorf("history is %+v", k.Status.History)
	}
	one := w.configMap("one")
	if one.Labels["kustomize.toolkit.fluxcd.io/name"] != "app" || one.Labels["kustomize.toolkit.fluxcd.io/namespace"] != w.namespace {
		t.Errorf("labels are %v", one.Labels)
	}
	if m := one.ManagedFields; len(m) != 1 || m[0].Manager != "kustomize-controller" || m[0].Operation != metav1.ManagedFieldsOperationApply {
		t.Errorf("managed fields are %v", m)
	}

	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "new")})
	k = w.ready("app", "main@sha1:2")
	if one := w.configMap("one"); one.Data["key"] != "new" {
		t.Errorf("one is %v", one.Data)
	}
	w.eventually("two is pruned", func() bool { return w.configMap("two") == nil })
	if diff := cmp.Diff([]string{w.namespace + "_one__ConfigMap v1"}, entriesOf(k)); diff != "" {
		t.Errorf("inventory:\n%s", diff)
	}
}

func TestAnUnchangedKustomizationAsksNothing(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMaps(30)})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		s.Wait = true
		s.Interval.Duration = 10 * time.Millisecond // it is reconciled repeatedly meanwhile
	})
	w.ready("app", "main@sha1:1")
	w.quiet()
	if got := w.pass("app"); len(got) != 0 {
		t.Errorf("a pass without news made requests:\n%s", strings.Join(got, "\n"))
	}

	// A new revision applies only the changed object.
	mark := running.requests.mark()
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": strings.Replace(configMaps(30), `"v"`, `"w"`, 1)})
	w.ready("app", "main@sha1:2")
	w.quiet()
	var applied, others []string
	for _, r := range running.requests.of(w.namespace, mark) {
		switch {
		case !strings.Contains(r, "/configmaps/"):
		case strings.HasPrefix(r, "PATCH ") && strings.Contains(r, "/cm-000?"):
			applied = append(applied, r)
		case !strings.HasPrefix(r, "GET ") || !strings.Contains(r, "/cm-000?"): // the health of the changed object
			others = append(others, r)
		}
	}
	if len(applied) != 2 || len(others) != 0 { // the dry run and the apply
		t.Errorf("only one object changed, but it requested:\n%s", strings.Join(append(applied, others...), "\n"))
	}
}

func TestChangesByOthersAreUndone(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1") + configMap("two", "2")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")

	w.must(w.c.Delete(t.Context(), w.configMap("two")))
	w.eventually("two is made again", func() bool { return w.configMap("two") != nil })

	one := w.configMap("one")
	before := one.DeepCopy()
	one.Data["key"] = "hacked"
	w.must(w.c.Patch(t.Context(), one, client.MergeFrom(before), client.FieldOwner("somebody")))
	w.eventually("one is as it was", func() bool { return w.configMap("one").Data["key"] == "1" })

	// As in Flux, changes by kubectl are undone; those of other controllers stay.
	one = w.configMap("one")
	before = one.DeepCopy()
	one.Data["more"] = "by hand"
	w.must(w.c.Patch(t.Context(), one, client.MergeFrom(before), client.FieldOwner("kubectl-edit")))
	w.eventually("kubectl's addition is gone", func() bool { return w.configMap("one").Data["more"] == "" })
	one = w.configMap("one")
	before = one.DeepCopy()
	one.Data["more"] = "by a controller"
	w.must(w.c.Patch(t.Context(), one, client.MergeFrom(before), client.FieldOwner("a-controller")))
	w.quiet()
	if w.configMap("one").Data["more"] != "by a controller" {
		t.Error("a field of another controller is gone")
	}
	if got := w.pass("app"); len(got) != 0 {
		t.Errorf("a field of another controller keeps it busy:\n%s", strings.Join(got, "\n"))
	}
}

func TestAStatusIsNobodysDrift(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": terraform("net")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.quiet()
	mark := running.requests.mark()
	w.setTerraform("net", metav1.ConditionTrue)
	w.quiet()
	if got := running.requests.of(w.namespace, mark); len(got) != 0 {
		t.Errorf("a changed status makes it ask:\n%s", strings.Join(got, "\n"))
	}
}

func TestARefusedObjectKeepsAllFromBeingApplied(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("good", "1")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.RetryInterval.Duration = 200 * time.Millisecond })
	w.ready("app", "main@sha1:1")
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("good", "2") +
		"apiVersion: v1\nkind: Secret\nmetadata: {name: bad, namespace: NAMESPACE}\ntype: kubernetes.io/dockerconfigjson\nstringData: {.dockerconfigjson: hunter2}\n"})
	message := w.failing("app", "ReconciliationFailed")
	if !strings.Contains(message, "Secret/"+w.namespace+"/bad dry-run failed (Invalid)") || strings.Contains(message, "hunter2") {
		t.Errorf("it says: %s", message)
	}
	if good := w.configMap("good"); good.Data["key"] != "1" {
		t.Error("the other object was changed")
	}
	k := w.get("app")
	if k.Status.LastAppliedRevision != "main@sha1:1" || k.Status.LastAttemptedRevision != "main@sha1:2" {
		t.Errorf("applied %q, attempted %q", k.Status.LastAppliedRevision, k.Status.LastAttemptedRevision)
	}
	if c := conditions.Of(k, meta.ReconcilingCondition); c.Reason != "ProgressingWithRetry" {
		t.Errorf("Reconciling is %s", c.Reason)
	}
	w.publish("src", "main@sha1:3", map[string]string{"a.yaml": configMap("good", "3")})
	if k := w.ready("app", "main@sha1:3"); len(entriesOf(k)) != 1 {
		t.Errorf("inventory is %v", entriesOf(k))
	}
}

func TestKindsThatTheAPIDoesNotHaveAreAllNamed(t *testing.T) {
	w := newWorld(t)
	release := func(kind, name string) string {
		return "---\napiVersion: helm.example.org/v2\nkind: " + kind + "\nmetadata: {name: " + name + ", namespace: NAMESPACE}\n"
	}
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("good", "1") +
		release("Release", "one") + release("Release", "two") + release("Chart", "three")})
	w.kustomization("app", nil)
	message := w.failing("app", "ReconciliationFailed")
	want := "Chart/" + w.namespace + "/three dry-run failed: no matches for kind \"Chart\" in version \"helm.example.org/v2\"\n" +
		"Release/" + w.namespace + "/one dry-run failed: no matches for kind \"Release\" in version \"helm.example.org/v2\""
	if message != want {
		t.Errorf("it says: %s", message)
	}
	if w.configMap("good") != nil {
		t.Error("the other object was made")
	}
}

func TestAFailureIsNotLostAmongWhatWasChanged(t *testing.T) {
	texts := make([]string, 2000)
	for i := range texts {
		texts[i] = "ConfigMap/apps/a created"
	}
	got := firstOf(texts, "objects created or configured")
	if len(got) != listed+1 || got[listed] != "and 1995 more objects created or configured" {
		t.Errorf("it lists %d, the last: %v", len(got), got[len(got)-1])
	}
	if got := firstOf(texts[:listed], ""); len(got) != listed {
		t.Errorf("of %d it lists %d", listed, len(got))
	}
}

func TestDefinitionsAndTheirObjectsComeInOneBuild(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": `
apiVersion: example.test/v1
kind: Gadget
metadata: {name: g, namespace: NAMESPACE}
spec: {size: 3}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: gadgets.example.test}
spec:
  group: example.test
  scope: Namespaced
  names: {kind: Gadget, plural: gadgets, singular: gadget, listKind: GadgetList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.Wait = true })
	k := w.ready("app", "main@sha1:1")
	if diff := cmp.Diff([]string{"_gadgets.example.test_apiextensions.k8s.io_CustomResourceDefinition v1", w.namespace + "_g_example.test_Gadget v1"}, entriesOf(k)); diff != "" {
		t.Errorf("inventory:\n%s", diff)
	}
	gadget := &unstructured.Unstructured{}
	gadget.SetAPIVersion("example.test/v1")
	gadget.SetKind("Gadget")
	w.must(w.c.Get(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "g"}, gadget))
}

// Trees of bootstrapped Flux contain Flux's definitions.
func TestTheKindsOfTheServerAreNobodysToChangeOrPrune(t *testing.T) {
	w := newWorld(t)
	own := &unstructured.Unstructured{}
	own.SetAPIVersion("apiextensions.k8s.io/v1")
	own.SetKind("CustomResourceDefinition")
	key := client.ObjectKey{Name: "buckets.source.toolkit.fluxcd.io"}
	w.must(w.c.Get(t.Context(), key, own))
	before := own.GetGeneration()
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1"), "crd.yaml": `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: buckets.source.toolkit.fluxcd.io}
spec:
  group: source.toolkit.fluxcd.io
  scope: Namespaced
  names: {kind: Bucket, plural: buckets, singular: bucket, listKind: BucketList}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, description: "of another version"}}
`})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.Wait = true })
	w.ready("app", "main@sha1:1")
	w.must(w.c.Get(t.Context(), key, own))
	if own.GetGeneration() != before || own.GetLabels()["kustomize.toolkit.fluxcd.io/name"] != "" {
		t.Errorf("it was changed: %v", own.GetLabels())
	}
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "2")})
	w.ready("app", "main@sha1:2")
	w.must(w.c.Get(t.Context(), key, own))
	if own.GetDeletionTimestamp() != nil {
		t.Error("it is being deleted")
	}
}

func TestACrashBeforeTheStatusIsWrittenOrphansNothing(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	// The process applies the revision with the object two, and "dies" before it writes the status.
	running.lost.Store(w.namespace, func(patch client.Patch, obj client.Object) bool {
		return w.configMap("two") != nil
	})
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "1") + configMap("two", "2")})
	w.eventually("two is applied", func() bool { return w.configMap("two") != nil })
	w.publish("src", "main@sha1:3", map[string]string{"a.yaml": configMap("one", "1")})
	w.r.book.forget(client.ObjectKey{Namespace: w.namespace, Name: "app"})
	running.lost.Delete(w.namespace)
	w.ready("app", "main@sha1:3")
	w.eventually("two is pruned", func() bool { return w.configMap("two") == nil })
}

func TestValuesThatChangeAreAppliedAtOnce(t *testing.T) {
	w := newWorld(t)
	values := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "values"}, Data: map[string]string{"tenant": "red"}}
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "${tenant}")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		s.PostBuild = &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "ConfigMap", Name: "values"}}}
	})
	w.failing("app", "BuildFailed")
	w.must(w.c.Create(t.Context(), values))
	w.ready("app", "main@sha1:1")
	if got := w.configMap("one").Data["key"]; got != "red" {
		t.Errorf("the value is %q", got)
	}
	values.Data["tenant"] = "blue"
	w.must(w.c.Update(t.Context(), values))
	w.eventually("the new value is applied", func() bool { return w.configMap("one").Data["key"] == "blue" })
	w.ready("app", "main@sha1:1")
}

func TestARequestIsAnswered(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.update("app", func(k *kustomizev1.Kustomization) {
		k.Annotations = map[string]string{meta.ReconcileRequestAnnotation: "now"}
	})
	w.eventually("the request is answered", func() bool { return w.get("app").Status.LastHandledReconcileAt == "now" })
	w.ready("app", "main@sha1:1")
}

func TestASuspendedKustomizationDoesNothing(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.update("app", func(k *kustomizev1.Kustomization) { k.Spec.Suspend = true })
	w.eventually("the suspension is seen", func() bool {
		obj, err := w.r.fromCache(t.Context(), client.ObjectKey{Namespace: w.namespace, Name: "app"})
		return err == nil && obj.Spec.Suspend
	})
	w.quiet()
	w.must(w.c.Delete(t.Context(), w.configMap("one")))
	w.quiet()
	if w.configMap("one") != nil {
		t.Error("a suspended Kustomization undid a change")
	}
	w.update("app", func(k *kustomizev1.Kustomization) { k.Spec.Suspend = false })
	w.eventually("the object is made again", func() bool { return w.configMap("one") != nil })
}

func TestObjectsThatSayTheyAreLeftAlone(t *testing.T) {
	w := newWorld(t)
	annotated := func(name, key, value string) string {
		return strings.Replace(configMap(name, "1"), "  namespace:", "  annotations: {kustomize.toolkit.fluxcd.io/"+key+": "+value+"}\n  namespace:", 1)
	}
	w.must(w.c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "there"}, Data: map[string]string{"key": "own"}}))
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": annotated("there", "ssa", "IfNotPresent") + annotated("absent", "ssa", "IfNotPresent") +
		annotated("off", "reconcile", "disabled") + annotated("kept", "prune", "disabled") + configMap("one", "1")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	if w.configMap("there").Data["key"] != "own" || w.configMap("absent") == nil || w.configMap("off") != nil {
		t.Error("IfNotPresent or reconcile: disabled is not followed")
	}
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "1")})
	w.ready("app", "main@sha1:2")
	w.eventually("absent is pruned", func() bool { return w.configMap("absent") == nil })
	if w.configMap("kept") == nil || w.configMap("there") == nil {
		t.Error("an object was pruned that is not to be")
	}
}

func TestForceMakesImmutableObjectsAnew(t *testing.T) {
	w := newWorld(t)
	with := func(value string) string {
		return strings.Replace(configMap("one", value), "\ndata:", "\nimmutable: true\ndata:", 1)
	}
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": with("1")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": with("2")})
	if message := w.failing("app", "ReconciliationFailed"); !strings.Contains(message, "immutable") {
		t.Errorf("it says: %s", message)
	}
	uid := w.configMap("one").UID
	w.update("app", func(k *kustomizev1.Kustomization) { k.Spec.Force = true })
	w.ready("app", "main@sha1:2")
	if one := w.configMap("one"); one.UID == uid || one.Data["key"] != "2" {
		t.Error("it was not made anew")
	}
	// Nor does it remove manually maintained objects.
	w.must(w.c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "by-hand", Namespace: w.namespace,
		Annotations: map[string]string{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}, Immutable: new(true), Data: map[string]string{"key": "mine"}}))
	w.publish("src", "main@sha1:by-hand", map[string]string{"a.yaml": with("2") + strings.Replace(with("2"), "name: one", "name: by-hand", 1)})
	w.ready("app", "main@sha1:by-hand")
	if mine := w.configMap("by-hand"); mine == nil || mine.Data["key"] != "mine" {
		t.Error("a manually maintained object was recreated")
	}
	// An invalid manifest removes nothing, even with force.
	uid = w.configMap("one").UID
	w.publish("src", "main@sha1:3", map[string]string{"a.yaml": strings.Replace(with("3"), "key:", "k/e/y:", 1)})
	w.failing("app", "ReconciliationFailed")
	if one := w.configMap("one"); one == nil || one.UID != uid {
		t.Error("an object was removed for a manifest that the API refuses")
	}
}

func TestASourceThatIsMissing(t *testing.T) {
	w := newWorld(t)
	w.kustomization("app", nil)
	if message := w.failing("app", "ArtifactFailed"); !strings.Contains(message, "Source 'ExternalArtifact/src' not found") {
		t.Errorf("it says: %s", message)
	}
	w.kustomization("other", func(s *kustomizev1.KustomizationSpec) { s.SourceRef.Namespace = "elsewhere" })
	if message := w.failing("other", "AccessDenied"); !strings.Contains(message, "cross-namespace references have been blocked") {
		t.Errorf("it says: %s", message)
	}
	w.publish("src", "main@sha1:1", map[string]string{"dir/a.yaml": configMap("one", "1")})
	w.ready("app", "main@sha1:1")
	w.update("app", func(k *kustomizev1.Kustomization) { k.Spec.Path = "./nowhere" })
	if message := w.failing("app", "ArtifactFailed"); !strings.Contains(message, "kustomization path not found") {
		t.Errorf("it says: %s", message)
	}
	if w.configMap("one") == nil {
		t.Error("a build that failed pruned an object")
	}
}
