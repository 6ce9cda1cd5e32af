// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

func on(names ...string) []kustomizev1.DependencyReference {
	var refs []kustomizev1.DependencyReference
	for _, name := range names {
		refs = append(refs, kustomizev1.DependencyReference{Name: name})
	}
	return refs
}

func TestAChainIsAppliedInItsOrder(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"account/a.yaml": terraform("account"), "network/a.yaml": configMap("network", "1"), "cluster/a.yaml": configMap("cluster", "1")})
	layer := func(name string, needs ...string) {
		w.kustomization(name, func(s *kustomizev1.KustomizationSpec) { s.Path, s.DependsOn, s.Wait = name, on(needs...), true })
	}
	layer("cluster", "network")
	layer("network", "account")
	if message := w.failing("network", "DependencyNotReady"); !strings.Contains(message, "dependency '"+w.namespace+"/account' not found") {
		t.Errorf("it says: %s", message)
	}
	layer("account")
	w.eventually("the network waits for the account", func() bool {
		return strings.Contains(w.failing("network", "DependencyNotReady"), "'"+w.namespace+"/account' is not ready")
	})
	w.failing("cluster", "DependencyNotReady")
	if w.configMap("network") != nil || w.configMap("cluster") != nil {
		t.Fatal("a layer was applied before the one below it was ready")
	}
	w.setTerraform("account", metav1.ConditionTrue)
	w.ready("cluster", "main@sha1:1")
	w.ready("network", "main@sha1:1")
	// A new revision follows the same order: each layer waits for the one below.
	w.publish("src", "main@sha1:2", map[string]string{"account/a.yaml": terraform("account"), "network/a.yaml": configMap("network", "2"), "cluster/a.yaml": configMap("cluster", "2")})
	w.ready("cluster", "main@sha1:2")
	// Applied objects stay when a dependency fails.
	w.setTerraform("account", metav1.ConditionFalse)
	w.quiet()
	w.ready("cluster", "main@sha1:2")
}

func TestACircleIsNamed(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": configMap("one", "1")})
	w.kustomization("a", func(s *kustomizev1.KustomizationSpec) { s.DependsOn = on("b") })
	w.kustomization("b", func(s *kustomizev1.KustomizationSpec) { s.DependsOn = on("a") })
	n := w.namespace
	message := w.failing("b", "DependencyCycle")
	if !strings.Contains(message, n+"/b → "+n+"/a → "+n+"/b") {
		t.Errorf("it says: %s", message)
	}
	w.update("b", func(k *kustomizev1.Kustomization) { k.Spec.DependsOn = nil })
	w.eventually("the circle is open", func() bool {
		c := conditions.Of(w.get("a"), "Ready")
		return c.Reason != "DependencyCycle"
	})
}

func TestAnExpressionSaysWhatReadyMeans(t *testing.T) {
	w := newWorld(t)
	w.publish("src", "main@sha1:1", map[string]string{"a/a.yaml": configMap("one", "1"), "b/a.yaml": configMap("two", "1")})
	w.kustomization("a", func(s *kustomizev1.KustomizationSpec) { s.Path, s.Suspend = "a", true })
	w.kustomization("b", func(s *kustomizev1.KustomizationSpec) {
		s.Path = "b"
		s.DependsOn = []kustomizev1.DependencyReference{{Name: "a", ReadyExpr: "dep.spec.path == self.spec.path + 'x'"}}
	})
	if message := w.failing("b", "DependencyNotReady"); !strings.Contains(message, "is not ready according to readyExpr eval") {
		t.Errorf("it says: %s", message)
	}
	w.update("a", func(k *kustomizev1.Kustomization) { k.Spec.Path = "bx" })
	w.ready("b", "main@sha1:1")
	w.update("b", func(k *kustomizev1.Kustomization) { k.Spec.DependsOn[0].ReadyExpr = "dep." })
	w.failing("b", "InvalidCELExpression")
}
