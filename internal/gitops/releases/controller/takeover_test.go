// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// settingsUID identifies the chart's ConfigMap: an adopted release is not installed anew.
func (w *world) settingsUID() string {
	w.t.Helper()
	made := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}}
	w.read(made)
	return string(made.UID)
}

// asked requests a reconciliation, and waits until it is handled.
func (w *world) asked(hr *helmv2.HelmRelease, at string) {
	w.t.Helper()
	w.change(hr, func(hr *helmv2.HelmRelease) {
		hr.Annotations = map[string]string{meta.ReconcileRequestAnnotation: at}
	})
	w.await(hr, "the request is handled", func(hr *helmv2.HelmRelease) bool {
		return hr.Status.LastHandledReconcileAt == at && condition(hr, meta.ReadyCondition).Status == metav1.ConditionTrue
	})
}

// A release that "helm install" made has no record in the status.
func TestAReleaseOfPlainHelmIsUpgraded(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(nil)
	w.ready(hr)
	uid := w.settingsUID()
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend = true })
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(&helmv2.HelmRelease{}, "app")

	hr = w.release(func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"adopted"}`) })
	w.ready(hr)
	w.settingsAre("greeting", "adopted")
	if h := hr.Status.History; len(h) != 1 || h[0].Version != 2 || h[0].Status != "deployed" || h[0].Action != helmv2.ReleaseActionUpgrade {
		t.Errorf("history: %+v", h)
	}
	if now := w.settingsUID(); now != uid {
		t.Error("the release was installed anew")
	}
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(&corev1.ConfigMap{}, "settings")
}

// Flux's helm-controller records other digests of the same versions.
func TestAReleaseOfFluxIsAdoptedWithoutAnUpgrade(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.CommonMetadata = &helmv2.CommonMetadata{Labels: map[string]string{"team": "a"}}
		hr.Spec.Values = values(`{"greeting":"one"}`)
	})
	w.ready(hr)
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"two"}`) })
	w.settingsAre("greeting", "two")
	w.ready(hr)
	ours := hr.Status.History.Latest().Digest

	before := hr.DeepCopy()
	for _, h := range hr.Status.History {
		h.Digest, h.ConfigDigest = "sha256:"+strings.Repeat("f", 64), "sha256:"+strings.Repeat("e", 64)
	}
	hr.Status.ObservedCommonMetadataDigest = "sha256:" + strings.Repeat("d", 64)
	w.must(w.c.Status().Patch(t.Context(), hr, client.MergeFrom(before)))
	running.r.memories.forget(client.ObjectKeyFromObject(hr)) // as after the start of a server
	w.asked(hr, "after the takeover")
	if h := hr.Status.History; len(h) != 2 || h[0].Version != 2 || h[0].Digest != ours || h[1].Version != 1 {
		t.Errorf("history: %+v", h)
	}
	if hr.Status.ObservedCommonMetadataDigest != digestOf(hr.Spec.CommonMetadata) {
		t.Errorf("the metadata's digest is %s", hr.Status.ObservedCommonMetadataDigest)
	}

	// A version that somebody else has deployed since is not the recorded one.
	before = hr.DeepCopy()
	hr.Status.History.Latest().Digest = "sha256:" + strings.Repeat("f", 64)
	hr.Status.History.Latest().LastDeployed = metav1.NewTime(hr.Status.History.Latest().LastDeployed.Add(-60_000_000_000))
	w.must(w.c.Status().Patch(t.Context(), hr, client.MergeFrom(before)))
	running.r.memories.forget(client.ObjectKeyFromObject(hr))
	w.asked(hr, "after a helm upgrade")
	if v := hr.Status.History.Latest().Version; v != 3 {
		t.Errorf("the last version is %d", v)
	}
}

func TestAReleaseMovesToAnotherName(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(nil)
	w.ready(hr)
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.ReleaseName = "other" })
	w.await(hr, "the release has another name", func(hr *helmv2.HelmRelease) bool {
		last := hr.Status.History.Latest()
		return last != nil && last.Name == "other" && condition(hr, meta.ReadyCondition).Status == metav1.ConditionTrue
	})
	has(t, w.told(helmv2.UninstallSucceededReason), "because the name of the release changes from app to other")
	w.gone(&corev1.Secret{}, "sh.helm.release.v1.app.v1")
	if h := hr.Status.History; len(h) != 1 || h[0].Version != 1 {
		t.Errorf("history: %+v", h)
	}
	w.settingsAre("greeting", "hello")
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(&corev1.ConfigMap{}, "settings")
}

func TestALongNameIsShortenedAsByFlux(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Name = strings.Repeat("a", 54) })
	w.ready(hr)
	name := strings.Repeat("a", 40) + "-a3f01b693925"
	if got := hr.Status.History.Latest().Name; got != name {
		t.Errorf("the name is %s", got)
	}
	stored := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "sh.helm.release.v1." + name + ".v1"}}
	w.read(stored)
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(&corev1.Secret{}, stored.Name)
}
