// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestManyNewObjectsCostOneRequestEach(t *testing.T) {
	w := newWorld(t)
	// One object exists already, and disables reconciliation.
	w.must(w.c.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "cm-007",
		Annotations: map[string]string{"kustomize.toolkit.fluxcd.io/reconcile": "disabled"}}, Data: map[string]string{"key": "own"}}))
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMaps(60)})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.quiet()
	patches := 0
	for _, r := range running.requests.of(w.namespace, 0) {
		if strings.HasPrefix(r, "PATCH ") && strings.Contains(r, "/configmaps/") {
			patches++
		}
	}
	if patches != 60 { // the existing one is tried and not applied
		t.Errorf("60 objects took %d requests", patches)
	}
	if w.configMap("cm-007").Data["key"] != "own" {
		t.Error("an object was changed that disables reconciliation")
	}
}

func TestARefusedNewObjectAmongManyLeavesWhatIsThere(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("old", "1")})
	w.kustomization("app", nil)
	w.ready("app", "main@sha1:1")
	w.publish("src", "main@sha1:2", map[string]string{"a.yaml": configMap("old", "2") + configMaps(30) + strings.Replace(configMap("bad", "1"), "key:", "k/e/y:", 1)})
	if message := w.failing("app", "ReconciliationFailed"); !strings.Contains(message, "ConfigMap/"+w.namespace+"/bad") {
		t.Errorf("it says: %s", message)
	}
	if w.configMap("old").Data["key"] != "1" {
		t.Error("an object was changed although another is refused")
	}
	// Created objects are known, and removed with the next revision.
	w.publish("src", "main@sha1:3", map[string]string{"a.yaml": configMap("old", "3")})
	w.update("app", func(k *kustomizev1.Kustomization) {
		k.Annotations = map[string]string{AnnotationConfirmPrune: "main@sha1:3"}
	})
	w.ready("app", "main@sha1:3")
	w.eventually("they are pruned", func() bool { return w.configMaps() == 1 })
}
