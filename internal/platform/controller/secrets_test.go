// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// secret reads a Secret; nil if there is none.
func (w *world) secret(name string) *corev1.Secret {
	w.Helper()
	s := &corev1.Secret{}
	err := w.Get(w.Context(), client.ObjectKey{Namespace: w.namespace, Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		w.Fatal(err)
	}
	return s
}

// handedOver makes the Secret with the kubeconfig that the first machine hands over, and one that is only named alike.
func (w *world) handedOver() {
	w.Helper()
	labels := map[string]string{yubav1.LabelPlatform: "acme", yubav1.LabelPlatformRegion: "eu"}
	for _, name := range []string{"acme-eu-kubeconfig", "acme-eu-notes"} {
		if err := w.Create(w.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: name, Labels: labels}}); err != nil {
			w.Fatal(err)
		}
	}
}

// TestSecretsOfARegionGoWithItsMachines: the next machines must get others.
func TestSecretsOfARegionGoWithItsMachines(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformProgressing, "")
	w.handedOver()
	token := string(w.secret("acme-eu-machine-tokens").Data["join_token"])
	w.change(p, func(s *yubav1.PlatformSpec) { s.Decommission = true })
	w.await(p, yubav1.ReasonPlatformDecommissioned, "")
	w.eventually("the Secrets are gone", func() string {
		if w.secret("acme-eu-machine-tokens") != nil || w.secret("acme-eu-kubeconfig") != nil {
			return "they are there"
		}
		return ""
	})
	if w.secret("acme-eu-notes") == nil {
		t.Error("a Secret of somebody else is gone")
	}
	w.change(p, func(s *yubav1.PlatformSpec) { s.Decommission = false })
	w.await(p, yubav1.ReasonPlatformProgressing, "")
	if next := w.secret("acme-eu-machine-tokens"); next == nil || string(next.Data["join_token"]) == token {
		t.Error("the new machines have the token of the old ones")
	}
}

// TestMachinesThatAreKeptKeepTheirSecrets: somebody still needs the kubeconfig.
func TestMachinesThatAreKeptKeepTheirSecrets(t *testing.T) {
	w := newWorld(t)
	p := w.platform("acme", w.domain(), func(s *yubav1.PlatformSpec) {
		s.Removal, s.Regions = yubav1.RemovalKeep, append(s.Regions, yubav1.PlatformRegion{Name: "us", Provider: "local"})
	})
	w.await(p, yubav1.ReasonPlatformProgressing, "")
	w.change(p, func(s *yubav1.PlatformSpec) { s.Regions = s.Regions[:1] })
	w.await(p, yubav1.ReasonPlatformProgressing, "0/5 ready")
	if w.stack("acme-us-machines") != nil || w.secret("acme-us-machine-tokens") == nil {
		t.Errorf("the stack is %v, the Secret %v", w.stack("acme-us-machines"), w.secret("acme-us-machine-tokens"))
	}
}

// TestASecretOfSomebodyElseIsNotTaken: what is in it is not known, and it would be overwritten.
func TestASecretOfSomebodyElseIsNotTaken(t *testing.T) {
	w := newWorld(t)
	if err := w.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "acme-eu-machine-tokens"}, StringData: map[string]string{"join_token": "mine"}}); err != nil {
		t.Fatal(err)
	}
	p := w.platform("acme", w.domain())
	w.await(p, yubav1.ReasonPlatformInvalid, "the Secret acme-eu-machine-tokens exists and is not of this platform")
	if w.stack("acme-eu-network") != nil {
		t.Error("stacks are made")
	}
}
