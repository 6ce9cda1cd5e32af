// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// outage puts a circuit breaker as the server would.
func outage(t *testing.T, name, mode string) {
	t.Helper()
	o := session.CircuitBreakers.Empty()
	o.SetName(name)
	o.Object["spec"] = map[string]any{"mode": mode, "provider": "acme/" + name}
	o.Object["status"] = map[string]any{"state": "Open", "affected": int64(412), "openedAt": time.Now().Add(-5 * time.Minute).UTC().Format(time.RFC3339),
		"conditions": []any{map[string]any{"type": "Ready", "status": string(metav1.ConditionFalse), "reason": "CircuitOpen", "message": "Provider acme/" + name + " is unavailable",
			"lastTransitionTime": time.Now().UTC().Format(time.RFC3339)}}}
	put(t, o)
	t.Cleanup(func() {
		if err := apitest.Client(t).Delete(context.Background(), o); err != nil {
			t.Error(err)
		}
	})
}

func modeOf(t *testing.T, name string) string {
	t.Helper()
	o := session.CircuitBreakers.Empty()
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKey{Name: name}, o); err != nil {
		t.Fatal(err)
	}
	mode, _, err := unstructured.NestedString(o.Object, "spec", "mode")
	if err != nil {
		t.Fatal(err)
	}
	return mode
}

func TestOutagesAreListedAndTurned(t *testing.T) {
	ns := apitest.Namespace(t)
	outage(t, "one", "Automatic")
	outage(t, "two", "Open")
	const head = "NAME  STATE  STACKS  OPENED  MESSAGE\n"
	one, two := "one  Open  412  5m ago  Provider acme/one is unavailable\n", "two  Open  412  5m ago  Provider acme/two is unavailable\n"
	for line, want := range map[string]string{
		"get circuitbreakers":                    head + one + two,
		"get cb -A":                              head + one + two,
		"get circuitbreaker two":                 head + two,
		"get cb --status-selector ready=true":    "",
		"get cb -o name":                         "circuitbreaker.yuba.dev/one\ncircuitbreaker.yuba.dev/two\n",
		"__complete resume circuitbreaker ":      "one\ntwo\n:4\n",
		"__complete suspend circuitbreaker two ": "one\ntwo\n:4\n",
	} {
		t.Run(line, func(t *testing.T) {
			words := strings.Fields(line)
			if strings.HasSuffix(line, " ") {
				words = append(words, "")
			}
			got := yuba(t, ns, words...)
			got.out = columnsOf(got.out, ns)
			got.want(t, ui.ExitOK, want)
		})
	}
	yuba(t, ns, "get", "cb", "none").want(t, ui.ExitNotFound, "", "get CircuitBreaker none: there is no such CircuitBreaker", "yuba get circuitbreakers")
	yuba(t, ns, "suspend", "cb", "none").want(t, ui.ExitNotFound, "", "none: there is no such CircuitBreaker")
	yuba(t, ns, "resume", "circuitbreaker", "one", "two").want(t, ui.ExitOK, "", "Circuit breaker one is closed.", "Circuit breaker two is automatic again.")
	if one, two := modeOf(t, "one"), modeOf(t, "two"); one != "Closed" || two != "Automatic" {
		t.Errorf("one is %s, two is %s", one, two)
	}
	yuba(t, ns, "suspend", "cb", "one", "-o", "name").want(t, ui.ExitOK, "circuitbreaker.yuba.dev/one\n", "Circuit breaker one is kept open.")
	if one := modeOf(t, "one"); one != "Open" {
		t.Errorf("one is %s", one)
	}
}
