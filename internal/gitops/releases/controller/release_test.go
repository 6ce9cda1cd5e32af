// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestAReleaseFollowsItsChartAndItsValues(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"one"}`) })
	w.ready(hr)
	w.settingsAre("greeting", "one")
	if c := condition(hr, helmv2.ReleasedCondition); c.Reason != helmv2.InstallSucceededReason || c.Message != "Helm install succeeded for release "+w.namespace+"/app.v1 with chart app@1.0.0" {
		t.Errorf("released: %+v", c)
	}
	h := hr.Status.History.Latest()
	if h == nil || h.Version != 1 || h.Status != "deployed" || h.ChartVersion != "1.0.0" || h.Action != helmv2.ReleaseActionInstall || h.Digest == "" || h.ConfigDigest != hr.Status.LastAttemptedConfigDigest {
		t.Errorf("history: %+v", h)
	}
	if i := hr.Status.Inventory; i == nil || len(i.Entries) != 1 || i.Entries[0].ID != w.namespace+"_settings__ConfigMap" || i.Entries[0].Version != "v1" {
		t.Errorf("inventory: %+v", i)
	}
	var settings corev1.ConfigMap
	settings.Namespace, settings.Name = w.namespace, "settings"
	w.read(&settings)
	if l := settings.Labels; l[labelName] != "app" || l[labelNamespace] != w.namespace || l["app.kubernetes.io/managed-by"] != "Helm" {
		t.Errorf("labels: %v", l)
	}

	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Values = values(`{"greeting":"two"}`) })
	w.settingsAre("greeting", "two")
	w.ready(hr)
	if h := hr.Status.History; len(h) != 2 || h[0].Version != 2 || h[1].Status != "superseded" || condition(hr, meta.ReadyCondition).Reason != helmv2.UpgradeSucceededReason {
		t.Errorf("history after an upgrade: %+v", h)
	}

	w.publish("1.1.0", simple("1.1.0"))
	w.await(hr, "the new chart", func(hr *helmv2.HelmRelease) bool { return hr.Status.History.Latest().ChartVersion == "1.1.0" })
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(hr, "app")
	w.gone(&settings, "settings")
	has(t, w.told(helmv2.UninstallSucceededReason), "Helm uninstall succeeded for release "+w.namespace+"/app")
}

func TestASuspendedReleaseStays(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(nil)
	w.ready(hr)
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.Suspend, hr.Spec.Values = true, values(`{"greeting":"never"}`) })
	w.must(w.c.Delete(t.Context(), hr))
	w.gone(hr, "app")
	w.settingsAre("greeting", "hello")
}

func TestValuesComeFromManyPlaces(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "base"}, Data: map[string]string{"values.yaml": "greeting: base\nsecret: weak\n"}})
	w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password"}, Data: map[string][]byte{"password": []byte("hunter2")}})
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.ValuesFrom = []helmv2.ValuesReference{{Kind: "ConfigMap", Name: "base"}, {Kind: "Secret", Name: "missing", Optional: true}, {Kind: "Secret", Name: "password", ValuesKey: "password", TargetPath: "secret"}}
		hr.Spec.Values = values(`{"greeting":"mine"}`)
	})
	w.ready(hr)
	w.settingsAre("greeting", "mine")
	w.settingsAre("secret", "hunter2")

	// A literal one is taken as it is: commas and dots mean nothing.
	w.create(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "literal"}, Data: map[string]string{"text": "a,b=c.d\\e"}})
	w.change(hr, func(hr *helmv2.HelmRelease) {
		hr.Spec.Values = nil
		hr.Spec.ValuesFrom = append(hr.Spec.ValuesFrom, helmv2.ValuesReference{Kind: "ConfigMap", Name: "literal", ValuesKey: "text", TargetPath: "greeting", Literal: true})
	})
	w.settingsAre("greeting", "a,b=c.d\\e")

	// A changed Secret is an upgrade at once.
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "password", Namespace: w.namespace}}
	w.read(secret)
	secret.Data["password"] = []byte("hunter3")
	w.must(w.c.Update(t.Context(), secret))
	w.settingsAre("secret", "hunter3")
}

func TestBadValues(t *testing.T) {
	for sentence, c := range map[string]struct {
		data string
		ref  helmv2.ValuesReference
		want string
	}{
		"a key that is missing":     {"greeting: x", helmv2.ValuesReference{Kind: "Secret", Name: "s", ValuesKey: "other"}, "could not resolve Secret '"},
		"an object that is missing": {"greeting: x", helmv2.ValuesReference{Kind: "ConfigMap", Name: "other"}, "could not resolve ConfigMap '"},
		"no YAML":                   {"a: b\nc: hunter2: d", helmv2.ValuesReference{Kind: "Secret", Name: "s"}, "is not a YAML document with a map of values"},
		"a list":                    {"- hunter2", helmv2.ValuesReference{Kind: "Secret", Name: "s"}, "is not a YAML document with a map of values"},
		"a path that is none":       {"hunter2", helmv2.ValuesReference{Kind: "Secret", Name: "s", TargetPath: "a[99999]", ValuesKey: "values.yaml"}, "cannot be set at the path a[99999]"},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.publish("1.0.0", simple("1.0.0"))
			w.create(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}, Data: map[string][]byte{"values.yaml": []byte(c.data)}})
			hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.ValuesFrom = []helmv2.ValuesReference{c.ref} })
			message := w.notReady(hr, "ValuesError")
			has(t, message, c.want)
			lacks(t, message, "hunter2")
		})
	}
}

func TestRenderedObjectsArePatched(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.CommonMetadata = &helmv2.CommonMetadata{Labels: map[string]string{"team": "blue"}, Annotations: map[string]string{"note": "x"}}
		hr.Spec.PostRenderers = []helmv2.PostRenderer{{Kustomize: &helmv2.Kustomize{Patches: []kustomize.Patch{{Patch: "- {op: add, path: /data/extra, value: patched}", Target: &kustomize.Selector{Kind: "ConfigMap"}}}}}}
	})
	w.ready(hr)
	w.settingsAre("extra", "patched")
	var settings corev1.ConfigMap
	settings.Namespace, settings.Name = w.namespace, "settings"
	w.read(&settings)
	if settings.Labels["team"] != "blue" || settings.Annotations["note"] != "x" {
		t.Errorf("metadata: %v %v", settings.Labels, settings.Annotations)
	}
	// Without the patch, the same chart with the same values is upgraded.
	w.change(hr, func(hr *helmv2.HelmRelease) { hr.Spec.PostRenderers = nil })
	w.settingsAre("extra", "")
	w.ready(hr)
	if n := hr.Status.History.Latest().Version; n != 2 {
		t.Errorf("version %d", n)
	}
}

func TestReleasesWaitForEachOther(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) { hr.Spec.DependsOn = []helmv2.DependencyReference{{Name: "first"}} })
	has(t, w.notReady(hr, helmv2.DependencyNotReadyReason), "dependency '"+w.namespace+"/first' does not exist")
	first := w.release(func(hr *helmv2.HelmRelease) { hr.Name, hr.Spec.ReleaseName = "first", "first" })
	w.ready(first)
	w.ready(hr)
}

func TestRequestsOfUsers(t *testing.T) {
	w := newWorld(t)
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(nil)
	w.ready(hr)
	annotate := func(at string, more ...string) {
		w.change(hr, func(hr *helmv2.HelmRelease) {
			hr.Annotations = map[string]string{meta.ReconcileRequestAnnotation: at}
			for _, name := range more {
				hr.Annotations[name] = at
			}
		})
		w.await(hr, "handled "+at, func(hr *helmv2.HelmRelease) bool { return hr.Status.LastHandledReconcileAt == at })
	}
	annotate("1")
	if n := hr.Status.History.Latest().Version; n != 1 {
		t.Errorf("a reconciliation without news made version %d", n)
	}
	annotate("2", meta.ForceRequestAnnotation)
	if n := hr.Status.History.Latest().Version; n != 2 || hr.Status.LastHandledForceAt != "2" {
		t.Errorf("a forced upgrade made version %d", n)
	}
	annotate("3", helmv2.ResetRequestAnnotation)
	if n := hr.Status.History.Latest().Version; n != 2 || hr.Status.LastHandledResetAt != "3" {
		t.Errorf("a reset made version %d", n)
	}
}
