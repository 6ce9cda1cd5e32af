// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	notificationv1 "github.com/fluxcd/notification-controller/api/v1"
	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/test/cloud"
)

// inbox is a service that receives alerts.
type inbox struct {
	mu     sync.Mutex
	events []eventv1.Event
}

func (b *inbox) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var e eventv1.Event
	if json.NewDecoder(r.Body).Decode(&e) == nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.events = append(b.events, e)
	}
}

// about lists the alerts about a kind: reason and message of each.
func (b *inbox) about(kind string) (told []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, e := range b.events {
		if e.InvolvedObject.Kind == kind {
			told = append(told, e.InvolvedObject.Name+" "+e.Reason+" "+e.Message)
		}
	}
	return told
}

const outageStacks = 12

// outage makes all reads of the stacks' objects fail, or succeed again.
func outage(c *cloud.Cloud, on bool) {
	status := 0
	if on {
		status = http.StatusServiceUnavailable
	}
	for i := range outageStacks {
		c.Fail(http.MethodGet, objectNo(i), status, "come back later")
	}
}

func objectNo(i int) string { return fmt.Sprintf("object-%02d", i) }

func (y *yuba) breakers(t *testing.T) []yubav1.CircuitBreaker {
	t.Helper()
	var list yubav1.CircuitBreakerList
	if err := y.client.List(t.Context(), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// awaitBreaker waits until there is exactly one circuit breaker, in the wanted state.
func (y *yuba) awaitBreaker(t *testing.T, what string, wanted func(*yubav1.CircuitBreaker) bool) *yubav1.CircuitBreaker {
	t.Helper()
	deadline := time.Now().Add(5 * time.Minute)
	for {
		all := y.breakers(t)
		if len(all) > 1 {
			t.Fatalf("there are %d circuit breakers", len(all))
		}
		if len(all) == 1 && wanted(&all[0]) {
			return &all[0]
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting until %s: %+v\nServer:\n%s", what, all, y.logTail())
		}
		time.Sleep(100 * time.Millisecond)
	}
}

func pausedStack(o *infrav1.Terraform) bool {
	return apimeta.IsStatusConditionTrue(o.Status.Conditions, infrav1.ConditionPaused)
}

// One outage of many stacks causes one circuit breaker and one alert. It survives a restart of the
// server, Yuba detects its end, and apparent drift then waits for a person.
func TestAnOutageIsOneAndNotADozen(t *testing.T) {
	t.Parallel()
	y := alone(t, "--outage-window", "30m")
	ns := y.namespace(t)
	c, access := cloudy(t, y, ns)
	box := &inbox{}
	service := httptest.NewServer(box)
	t.Cleanup(service.Close)
	y.create(t,
		&notificationv1beta3.Provider{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pager"}, Spec: notificationv1beta3.ProviderSpec{Type: "generic", Address: service.URL}},
		&notificationv1beta3.Alert{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "outages"}, Spec: notificationv1beta3.AlertSpec{
			ProviderRef: meta.LocalObjectReference{Name: "pager"}, EventSeverity: "error",
			EventSources: []notificationv1.CrossNamespaceObjectReference{{Kind: "CircuitBreaker", Name: "*"}, {Kind: "Terraform", Name: "*"}}}})
	var stacks []*infrav1.Terraform
	for i := range outageStacks {
		stacks = append(stacks, inline(ns, fmt.Sprintf("stack-%02d", i), providerHCL+objectHCL(objectNo(i), "as planned"), access, auto, driftEvery(5*time.Second)))
	}
	for _, s := range stacks {
		y.create(t, s)
	}
	for _, s := range stacks {
		y.await(t, s, "it is ready", ready)
	}

	outage(c, true)
	open := y.awaitBreaker(t, "all stacks failed alike", func(b *yubav1.CircuitBreaker) bool { return b.Status.Affected == outageStacks })
	s := &open.Status
	if s.State == yubav1.StateClosed || s.Provider != "yuba-dev/yubatest" || s.Cause != "unavailable" || !strings.Contains(s.Sample, "come back later") ||
		len(s.Stacks) != outageStacks || len(s.AffectedNamespaces) != 1 || apimeta.IsStatusConditionTrue(s.Conditions, "Ready") {
		t.Errorf("%+v", s)
	}
	for _, o := range stacks {
		seen := y.await(t, o, "it is paused", pausedStack)
		if ready := apimeta.FindStatusCondition(seen.Status.Conditions, infrav1.ConditionReady); ready.Status != metav1.ConditionFalse || !strings.Contains(ready.Message, "come back later") {
			t.Errorf("%s: Ready is %+v", o.Name, ready)
		}
	}

	// During the outage, the server is killed and an object disappears.
	y.kill()
	c.Remove(objectNo(3))
	if err := y.start(); err != nil {
		t.Fatal(err)
	}
	if again := y.awaitBreaker(t, "it is open after the restart", func(b *yubav1.CircuitBreaker) bool { return b.Status.State != yubav1.StateClosed }); again.UID != open.UID {
		t.Error("it is another one after the restart")
	}
	outage(c, false)
	y.awaitBreaker(t, "it closes automatically", func(b *yubav1.CircuitBreaker) bool { return b.Status.State == yubav1.StateClosed })
	for i, o := range stacks {
		if i == 3 {
			continue
		}
		y.await(t, o, "it is ready again", func(o *infrav1.Terraform) bool { return ready(o) && !pausedStack(o) })
	}
	held := y.await(t, stacks[3], "its plan is held", func(o *infrav1.Terraform) bool { return o.Status.Plan.HeldBy == open.Name })
	if r := apimeta.FindStatusCondition(held.Status.Conditions, infrav1.ConditionReady); r.Reason != infrav1.ReasonDriftDetected || !strings.Contains(r.Message, "yuba approve") {
		t.Errorf("Ready is %+v", r)
	}
	has(t, c, objectNo(3), "")

	if _, news, code := y.run(t, "approve", held.Name, held.Status.Plan.Pending, "-n", ns); code != 0 {
		t.Fatalf("yuba approve: %d %s", code, news)
	}
	y.await(t, held, "it is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Plan.HeldBy == "" && o.Status.Plan.LastApplied == held.Status.Plan.Pending
	})
	has(t, c, objectNo(3), "as planned")

	// There is one alert about the outage. Of the stacks, only those have alerts that failed before
	// the outage was detected, and the one whose drift is held.
	if told := box.about("CircuitBreaker"); len(told) != 1 {
		t.Errorf("%d alerts were about the outage:\n%s", len(told), strings.Join(told, "\n"))
	}
	failures := 0
	for _, line := range box.about("Terraform") {
		if strings.Contains(line, "come back later") {
			failures++
		}
	}
	if failures > 6 {
		t.Errorf("%d alerts were about stacks that failed:\n%s", failures, strings.Join(box.about("Terraform"), "\n"))
	}
}
