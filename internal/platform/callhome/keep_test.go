// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package callhome_test

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/platform/callhome"
)

func TestKeepingATicket(t *testing.T) {
	w := newWorld(t)
	if err := w.api.Delete(t.Context(), w.ticket()); err != nil {
		t.Fatal(err)
	}
	p := callhome.Pair{Ticket: w.key, Tokens: types.NamespacedName{Namespace: w.key.Namespace, Name: "acme-eu-1-machine-tokens"},
		Labels: map[string]string{"yuba.dev/platform": "acme"}, Lifetime: time.Hour}
	keep := func(at time.Duration, want callhome.State) string {
		t.Helper()
		w.at(at)
		got, err := callhome.Keep(t.Context(), w.api, p, began.Add(at))
		if err != nil || got != want {
			t.Fatalf("%s, %v, want %s", got, err, want)
		}
		tokens := &corev1.Secret{}
		if err := w.api.Get(t.Context(), p.Tokens, tokens); err != nil {
			t.Fatal(err)
		}
		if tokens.Labels["yuba.dev/platform"] != "acme" || w.ticket().Labels["yuba.dev/platform"] != "acme" {
			t.Error("the Secrets lack the labels")
		}
		return string(tokens.Data[callhome.TokenKey])
	}
	first := keep(0, callhome.Waiting)
	if again := keep(time.Minute, callhome.Waiting); again != first {
		t.Error("a pass replaces a token that is valid")
	}
	// A crash between the two writes: the token is not the ticket's.
	other, grant, err := callhome.New(began, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	s := w.ticket()
	callhome.Renew(s, grant)
	if err := w.api.Update(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	mended := keep(2*time.Minute, callhome.Waiting)
	for name, token := range map[string]string{"the first": first, "the unknown": other} {
		if code, _ := w.put(token, w.kubeconfig("https://203.0.113.7:6443")); code != http.StatusUnauthorized {
			t.Errorf("%s token: %d", name, code)
		}
	}
	// It expires unused, and another one takes its place.
	renewed := keep(2*time.Hour, callhome.Waiting)
	if renewed == mended {
		t.Error("an expired token stays")
	}
	if code, text := w.put(renewed, w.kubeconfig("https://203.0.113.7:6443")); code != http.StatusNoContent {
		t.Fatal(code, text)
	}
	if left := keep(2*time.Hour, callhome.Arrived); left != "" {
		t.Error("the token stays after its use")
	}
	if left := keep(20*time.Hour, callhome.Arrived); left != "" || len(w.ticket().Data[callhome.KubeconfigKey]) == 0 {
		t.Error("a later pass changes a ticket with its kubeconfig")
	}
}
