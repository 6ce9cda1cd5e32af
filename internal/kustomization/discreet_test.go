// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomization

import (
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestWhatComesFromSecretsIsHidden(t *testing.T) {
	text := `Invalid value: "a \"b\" c": want 12 of prod, not hunter2 or hunter22`
	want := `Invalid value: "(sensitive)": want 12 of prod, not (sensitive) or (sensitive)`
	if got := hidden(text, []string{"hunter2", `a "b" c`, "12", "", "hunter22"}); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
}

// The API quotes what it does not accept.
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
