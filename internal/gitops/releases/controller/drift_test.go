// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"testing"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	"github.com/fluxcd/pkg/apis/kustomize"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// drifting is a release whose drift is looked for every second.
func (w *world) drifting(mode helmv2.DriftDetectionMode, ignore ...helmv2.IgnoreRule) *helmv2.HelmRelease {
	w.t.Helper()
	w.publish("1.0.0", simple("1.0.0"))
	hr := w.release(func(hr *helmv2.HelmRelease) {
		hr.Spec.Interval = metav1.Duration{Duration: time.Second}
		hr.Spec.DriftDetection = &helmv2.DriftDetection{Mode: mode, Ignore: ignore}
	})
	w.ready(hr)
	return hr
}

// set changes the chart's ConfigMap behind its back.
func (w *world) set(key, value string) {
	w.t.Helper()
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}}
	w.read(settings)
	settings.Data[key] = value
	w.must(w.c.Update(w.t.Context(), settings))
}

func TestDriftIsCorrected(t *testing.T) {
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionEnabled)
	w.set("greeting", "changed")
	w.settingsAre("greeting", "hello")
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "settings"}}
	w.must(w.c.Delete(t.Context(), settings))
	w.settingsAre("greeting", "hello")
	note := w.told("DriftCorrected")
	has(t, note, "Cluster state of release "+w.namespace+"/app.v1 has been corrected:", "ConfigMap/"+w.namespace+"/settings")
	lacks(t, note, "changed\"")
	if n := hr.Status.History.Latest().Version; n != 1 {
		t.Errorf("version %d", n)
	}
}

func TestDriftIsReported(t *testing.T) {
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionWarn)
	w.set("greeting", "changed")
	w.await(hr, "drift", func(hr *helmv2.HelmRelease) bool {
		return condition(hr, helmv2.DriftedCondition).Status == metav1.ConditionTrue
	})
	has(t, condition(hr, helmv2.DriftedCondition).Message, "ConfigMap/"+w.namespace+"/settings changed (/data/greeting)")
	w.settingsAre("greeting", "changed")
	if condition(hr, meta.ReadyCondition).Status != metav1.ConditionTrue {
		t.Error("drift that is only reported makes a release unready")
	}
	w.set("greeting", "hello")
	w.await(hr, "no drift", func(hr *helmv2.HelmRelease) bool {
		return condition(hr, helmv2.DriftedCondition).Status == metav1.ConditionFalse
	})
}

func TestDriftMayBeIgnored(t *testing.T) {
	w := newWorld(t)
	hr := w.drifting(helmv2.DriftDetectionEnabled, helmv2.IgnoreRule{Paths: []string{"/data/greeting"}, Target: &kustomize.Selector{Kind: "ConfigMap"}})
	w.set("greeting", "changed")
	w.set("secret", "changed")
	w.settingsAre("secret", "none")
	w.settingsAre("greeting", "changed")
	if c := condition(hr, meta.ReadyCondition); c.Status != metav1.ConditionTrue {
		t.Errorf("%+v", c)
	}
}
