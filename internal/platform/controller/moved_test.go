// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/platform/plan"
)

// What stays of a platform that was moved is a copy: a home that went on with it would be a second owner.
func TestAMovedPlatformIsLeftAlone(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
	before := p.DeepCopy()
	p.Annotations = map[string]string{moving.AnnotationMoved: moving.Mark{Move: "m", Name: "prod"}.Text()}
	p.Spec.Components = nil // what it would remove is not its own any more
	if err := w.Patch(t.Context(), p, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	w.await(p, yubav1.ReasonPlatformMoved, "Moved to prod")
	if err := w.Delete(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	w.eventually("its object goes", func() string {
		if err := w.Get(t.Context(), client.ObjectKeyFromObject(p), p); client.IgnoreNotFound(err) == nil && err != nil {
			return ""
		}
		return "it is still there"
	})
	for _, phase := range all {
		if s := w.stack("acme-eu-" + phase); s == nil || !s.DeletionTimestamp.IsZero() || s.Labels[yubav1.LabelPlatform] != "acme" {
			t.Errorf("the stack of %s was changed: %+v", phase, s)
		}
	}
}

// At its new home, a platform has the kubeconfig that its machines handed over at the former one.
func TestAPlatformBringsItsKubeconfig(t *testing.T) {
	w := newWorld(t)
	kubeconfig := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: plan.SecretName("acme", "eu", plan.KubeconfigSecret),
		Labels: map[string]string{yubav1.LabelPlatform: "acme", yubav1.LabelPlatformRegion: "eu"}}, Data: map[string][]byte{"value": []byte("kubeconfig")}}
	if err := w.Create(t.Context(), kubeconfig); err != nil {
		t.Fatal(err)
	}
	p := w.platform("acme", w.domain(), func(s *yubav1.PlatformSpec) {
		s.Regions = append(s.Regions, yubav1.PlatformRegion{Name: "us", Provider: "local"})
	})
	w.await(p, yubav1.ReasonPlatformProgressing, "0/10 ready")
	has := func(stack string) bool {
		for _, v := range w.stack(stack).Spec.Vars {
			if v.Name == "kubeconfig" && v.ValueFrom.SecretKeyRef.Name == kubeconfig.Name {
				return true
			}
		}
		return false
	}
	w.eventually("phases in the cluster read it", func() string {
		if !has("acme-eu-kubernetes") || !has("acme-eu-vault") {
			return "they do not"
		}
		return ""
	})
	if has("acme-us-kubernetes") || has("acme-eu-network") {
		t.Error("others read it, too")
	}
}
