// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"sync/atomic"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/objects/engine"
)

func TestAfterARestartEverythingIsAppliedOnce(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1") + terraform("net")})
	w.kustomization("app", nil)
	k := w.ready("app", "main@sha1:1")
	w.quiet()
	key := client.ObjectKeyFromObject(k)
	// The memory is lost, and somebody changed an object.
	w.r.book.forget(key)
	one := w.configMap("one")
	before := one.DeepCopy()
	one.Data["key"] = "changed"
	w.must(w.c.Patch(t.Context(), one, client.MergeFrom(before), client.FieldOwner("somebody")))
	if got := w.pass("app"); len(got) == 0 {
		t.Error("a pass after a restart made no requests")
	}
	w.eventually("the change is undone", func() bool { return w.configMap("one").Data["key"] == "1" })
	w.quiet()
	if got := w.pass("app"); len(got) != 0 {
		t.Errorf("the second pass requested %v", got)
	}
	if after := w.get("app"); after.Status.Conditions[0].LastTransitionTime != k.Status.Conditions[0].LastTransitionTime || !isReady(after) {
		t.Error("Ready was touched, which others depend on")
	}
}

func TestKindsThatNobodyHasAreNotWatched(t *testing.T) {
	w := newWorld(t)
	quota := "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: q, namespace: NAMESPACE}\nspec: {hard: {configmaps: \"100\"}}\n---\n"
	id := engine.ID{GroupKind: schema.GroupKind{Kind: "ResourceQuota"}, Namespace: w.namespace, Name: "q"}
	watched := func() bool {
		_, known := w.r.clusters.watch.Get(id)
		return known != ""
	}
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": quota + configMap("one", "1")})
	w.kustomization("app", nil)
	w.kustomization("other", func(s *kustomizev1.KustomizationSpec) { s.SourceRef.Name = "other" })
	w.publish("other", "main@sha1:1", map[string]string{"a.yaml": "apiVersion: v1\nkind: ResourceQuota\nmetadata: {name: r, namespace: NAMESPACE}\nspec: {hard: {secrets: \"100\"}}\n"})
	w.ready("app", "main@sha1:1")
	w.ready("other", "main@sha1:1")
	if !watched() {
		t.Error("the kind is not watched")
	}
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("one", "1")})
	w.ready("app", "main@sha1:2")
	if !watched() {
		t.Error("the kind is watched no longer although another Kustomization has an object of it")
	}
	w.must(w.c.Delete(t.Context(), w.get("other")))
	w.leaves("other")
	w.eventually("the kind is watched no longer", func() bool { return !watched() })
}

func TestAStatusThatWasNotWrittenIsWrittenLater(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	// All is applied, and only the last write is lost.
	lose := atomic.Int32{}
	lose.Store(2)
	running.lost.Store(w.namespace, func(_ client.Patch, o client.Object) bool {
		return isReady(o.(*kustomizev1.Kustomization)) && lose.Add(-1) >= 0
	})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	if lose.Load() >= 0 {
		t.Error("no write was lost")
	}
}
