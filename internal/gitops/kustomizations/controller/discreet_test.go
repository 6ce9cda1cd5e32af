// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/base64"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestWhatComesFromSecretsIsHidden(t *testing.T) {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "vars"}, Data: map[string][]byte{
		"one": []byte("hunter2"), "two": []byte(`a "b" c`), "short": []byte("12"), "three": []byte("q7z"), "none": nil, "more": []byte("hunter22"), "lines": []byte("first-half\nsecond-half\n")}}
	r := &Reconciler{Reader: fake.NewClientBuilder().WithObjects(secret).Build()}
	obj := &kustomizev1.Kustomization{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "app"}}
	obj.Spec.PostBuild = &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "Secret", Name: "vars"}, {Kind: "Secret", Name: "gone"}}}
	for text, want := range map[string]string{
		`Invalid value: "a \"b\" c": want 12 of prod, not hunter2 or hunter22`:  `Invalid value: "(sensitive)": want 12 of prod, not (sensitive) or (sensitive)`,
		`illegal data: ` + base64.StdEncoding.EncodeToString([]byte("hunter2")): `illegal data: (sensitive)`,
		`cannot parse "postgres://app:hunter%32@db/a"`:                          `cannot parse "postgres://app:(sensitive)@db/a"`,
		`Invalid value: "q7z"`:                     `Invalid value: "(sensitive)"`,
		`Invalid value: "first-halfsecond-half"`:   `Invalid value: "(sensitive)"`,
		`Invalid value: "first-half\nsecond-half"`: `Invalid value: "(sensitive)"`,
	} {
		if got := r.discreet(t.Context(), obj, text); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}

// The API quotes values that it refuses.
func TestAFailureDoesNotQuoteASecret(t *testing.T) {
	w := newWorld(t)
	w.must(w.c.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.namespace, Name: "vars"}, StringData: map[string]string{"token": "hunter2 is secret!"}}))
	w.publish("src", "main@sha1:1", map[string]string{"a.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: one\n  namespace: " + w.namespace +
		"\n  labels:\n    token: ${token}\n"})
	w.kustomization("app", func(s *kustomizev1.KustomizationSpec) {
		s.PostBuild = &kustomizev1.PostBuild{SubstituteFrom: []kustomizev1.SubstituteReference{{Kind: "Secret", Name: "vars"}}}
	})
	message := w.failing("app", meta.ReconciliationFailedReason)
	if strings.Contains(message, "hunter2") || !strings.Contains(message, `"(sensitive)"`) {
		t.Errorf("the message is %q", message)
	}
}
