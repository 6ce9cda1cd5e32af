// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// configMaps counts those of the namespace that Kustomizations own.
func (w *world) configMaps() int {
	w.t.Helper()
	var list corev1.ConfigMapList
	w.must(w.c.List(w.t.Context(), &list, client.InNamespace(w.namespace), client.HasLabels{"kustomize.toolkit.fluxcd.io/name"}))
	return len(list.Items)
}

// leaves waits until a Kustomization is deleted.
func (w *world) leaves(name string) {
	w.t.Helper()
	w.eventually(name+" is gone", func() bool {
		err := w.c.Get(w.t.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, &kustomizev1.Kustomization{})
		return apierrors.IsNotFound(err)
	})
}

func TestPruningMostOfManyObjectsIsHeld(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMaps(20)})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMaps(5) + strings.ReplaceAll(configMaps(9), "cm-", "more-") + configMap("new", "1")})
	message := w.failing("app", "PruneHeld")
	if !strings.Contains(message, "15 of 20 objects") || !strings.Contains(message, "yuba.dev/confirm-prune=main@sha1:2") {
		t.Errorf("it says: %s", message)
	}
	if n := w.configMaps(); n != 30 {
		t.Errorf("%d objects are there", n)
	}
	if k := w.get("app"); len(entriesOf(k)) != 30 || conditions.Of(k, meta.StalledCondition).Status != metav1.ConditionTrue {
		t.Errorf("inventory has %d entries\n%s", len(entriesOf(k)), w.describe())
	}
	// The other objects are still corrected.
	w.must(w.c.Delete(t.Context(), w.configMap("new")))
	w.eventually("the object is made again", func() bool { return w.configMap("new") != nil })
	// Neither a restart nor another attempt mistakes the new object for an old one.
	w.r.book.forget(client.ObjectKey{Namespace: w.namespace, Name: "app"})
	w.pass("app")
	if w.failing("app", "PruneHeld"); w.configMaps() != 30 {
		t.Error("objects were pruned after a restart")
	}
	// A confirmation of another revision does not count.
	confirm := func(revision string) {
		w.update("app", func(k *kustomizev1.Kustomization) {
			k.Annotations = map[string]string{AnnotationConfirmPrune: revision, meta.ReconcileRequestAnnotation: "at " + revision}
		})
		w.eventually("it is looked at", func() bool { return w.get("app").Status.LastHandledReconcileAt == "at "+revision })
	}
	confirm("main@sha1:1")
	if w.failing("app", "PruneHeld"); w.configMaps() != 30 {
		t.Error("objects were pruned for another revision's confirmation")
	}
	confirm("main@sha1:2")
	w.ready("app", "main@sha1:2")
	w.eventually("they are pruned", func() bool { return w.configMaps() == 15 })
	// A deletion is not held.
	w.publish("src", "main@sha1:3", map[string]string{"a.yaml": configMaps(20) + configMap("new", "1")})
	w.ready("app", "main@sha1:3")
	w.must(w.c.Delete(t.Context(), w.get("app")))
	w.leaves("app")
	if n := w.configMaps(); n != 0 {
		t.Errorf("%d objects are left", n)
	}
}

func TestAFewObjectsArePrunedWithoutQuestions(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1"), "kustomization.yaml": "resources: [a.yaml]\n"})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.publish("src", "main@sha1:2", map[string]string{"kustomization.yaml": "resources: []\n"})
	w.ready("app", "main@sha1:2")
	w.eventually("one is pruned", func() bool { return w.configMap("one") == nil })
}

func TestABrokenBuildPrunesNothing(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1"), "b.yaml": configMap("two", "2")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "1"), "b.yaml": "a: [b\n"})
	if message := w.failing("app", "BuildFailed"); !strings.Contains(message, "b.yaml") {
		t.Errorf("it says: %s", message)
	}
	if w.configMap("two") == nil || len(entriesOf(w.get("app"))) != 2 {
		t.Error("a broken build pruned an object")
	}
}

func TestWithoutPruneObjectsStay(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1") + configMap("two", "2")})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.Prune = false })
	w.ready("app", "main@sha1:1")
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "1")})
	if k := w.ready("app", "main@sha1:2"); len(entriesOf(k)) != 1 || w.configMap("two") == nil {
		t.Error("an object was pruned although nothing is to be")
	}
	w.must(w.c.Delete(t.Context(), w.get("app")))
	w.leaves("app")
	if w.configMap("one") == nil {
		t.Error("MirrorPrune without prune removed an object")
	}
}

func TestDeletionPolicies(t *testing.T) {
	for policy, stays := range map[string]bool{"Orphan": true, "Delete": false, "MirrorPrune": false} {
		t.Run(policy, func(t *testing.T) {
			w := newWorld(t)
			w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
			w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.DeletionPolicy = policy })
			w.ready("app", "main@sha1:1")
			w.must(w.c.Delete(t.Context(), w.get("app")))
			w.leaves("app")
			if (w.configMap("one") != nil) != stays {
				t.Errorf("the object stays: %v", !stays)
			}
		})
	}
}

func TestADeletionWaitsForTerminationWithoutBlocking(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": strings.Replace(configMap("one", "1"), "  namespace:", "  finalizers: [test.example/hold]\n  namespace:", 1)})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) { s.DeletionPolicy = "WaitForTermination" })
	w.ready("app", "main@sha1:1")
	w.must(w.c.Delete(t.Context(), w.get("app")))
	w.eventually("it says what it waits for", func() bool {
		return strings.Contains(conditions.Of(w.get("app"), meta.ReconcilingCondition).Message, "ConfigMap/"+w.namespace+"/one")
	})
	one := w.configMap("one")
	before := one.DeepCopy()
	one.Finalizers = nil
	w.must(w.c.Patch(t.Context(), one, client.MergeFrom(before)))
	w.leaves("app")
}

func TestNestedKustomizationsGoWithTheirObjects(t *testing.T) {
	w := newWorld(t)
	child := "apiVersion: kustomize.toolkit.fluxcd.io/v1\nkind: Kustomization\nmetadata: {name: child, namespace: NAMESPACE}\nspec:\n  interval: 1h\n  prune: true\n  path: child\n  sourceRef: {kind: ExternalArtifact, name: src}\n"
	w.publish("src", "main@sha1:1", map[string]string{"apps/child.yaml": child, "child/a.yaml": configMap("one", "1")})
	w.kustomization("apps", func(s *kustomizev1.KustomizationSpec) {
		s.Path, s.Wait, s.DeletionPolicy = "./apps", true, "WaitForTermination"
	})
	w.ready("apps", "main@sha1:1")
	w.ready("child", "main@sha1:1")
	w.must(w.c.Delete(t.Context(), w.get("apps")))
	w.leaves("apps")
	w.leaves("child")
	if w.configMap("one") != nil {
		t.Error("the child's object is left")
	}
}

func TestTwoKustomizationsThatOwnOneObject(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("shared", "first")})
	w.kustomization("first", nil)
	w.ready("first", "main@sha1:1")
	w.publish("second", "main@sha1:1", map[string]string{"a.yaml": configMap("shared", "second") + configMap("own", "1")})
	w.kustomization("second", func(s *kustomizev1.KustomizationSpec) { s.SourceRef.Name = "second" })
	message := w.failing("second", "OwnershipConflict")
	if !strings.Contains(message, "ConfigMap/"+w.namespace+"/shared belongs to Kustomization "+w.namespace+"/first") {
		t.Errorf("it says: %s", message)
	}
	if w.configMap("shared").Data["key"] != "first" || w.configMap("own") == nil {
		t.Error("the shared object was taken, or the other one not applied")
	}
	if ids := entriesOf(w.get("second")); len(ids) != 1 {
		t.Errorf("the second's inventory is %v", ids)
	}
	// The first one releases the object, which is handed over without deletion.
	uid := w.configMap("shared").UID
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("other", "1")})
	w.ready("first", "main@sha1:2")
	w.ready("second", "main@sha1:1")
	if shared := w.configMap("shared"); shared.UID != uid || shared.Data["key"] != "second" {
		t.Errorf("the object was not handed over: %v", shared.Data)
	}
	// Force takes it, and the previous owner does not take it back.
	w.publish("third", "main@sha1:1", map[string]string{"a.yaml": strings.Replace(configMap("shared", "third"), "  namespace:", "  annotations: {kustomize.toolkit.fluxcd.io/force: enabled}\n  namespace:", 1)})
	w.kustomization("third", func(s *kustomizev1.KustomizationSpec) { s.SourceRef.Name = "third" })
	w.ready("third", "main@sha1:1")
	w.failing("second", "OwnershipConflict")
	// A deletion removes only owned objects.
	w.must(w.c.Delete(t.Context(), w.get("second")))
	w.leaves("second")
	if shared := w.configMap("shared"); shared == nil || shared.Data["key"] != "third" {
		t.Error("the object is not the third one's")
	}
}

func TestAnObjectOfAKustomizationThatIsGoneIsTakenOver(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("old", func(s *kustomizev1.KustomizationSpec) { s.DeletionPolicy = "Orphan" })
	w.ready("old", "main@sha1:1")
	w.kustomization("new", func(s *kustomizev1.KustomizationSpec) { s.RetryInterval = &metav1.Duration{Duration: time.Hour} })
	w.failing("new", "OwnershipConflict")
	w.must(w.c.Delete(t.Context(), w.get("old")))
	w.leaves("old")
	w.ready("new", "main@sha1:1")
	if got := w.configMap("one").Labels["kustomize.toolkit.fluxcd.io/name"]; got != "new" {
		t.Errorf("it belongs to %s", got)
	}
}
