// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func checking(checks ...infrav1.HealthCheck) func(*infrav1.Terraform) {
	return func(obj *infrav1.Terraform) { obj.Spec.HealthChecks = checks }
}

func TestAStackIsReadyOnceItAnswers(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	var status, asked atomic.Int64
	status.Store(http.StatusOK)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/private-path" {
			asked.Add(1)
		}
		w.WriteHeader(int(status.Load()))
	}))
	t.Cleanup(server.Close)
	program := func(path string) string {
		return `resource "terraform_data" "a" { input = "` + server.URL + `" }
output "url" { value = terraform_data.a.output }
output "path" {
  value     = "` + path + `"
  sensitive = true
}
`
	}
	address := strings.TrimPrefix(server.URL, "http://")
	obj := inline(ns, "healthy", program("private-path"), auto, driftEvery(time.Second),
		checking(infrav1.HealthCheck{Name: "port", Type: "tcp", Address: address}, infrav1.HealthCheck{Name: "page", Type: "http", URL: "${{ .url }}/${{ .path }}"}))
	y.create(t, obj)
	seen := y.await(t, obj, "it is ready", ready)
	if c := condition(seen, infrav1.ConditionHealthCheck); c.Status != metav1.ConditionTrue || c.Reason != "HealthChecksSucceed" || c.Message != "Health checks succeeded" {
		t.Errorf("%+v", c)
	}
	first := asked.Load()
	status.Store(http.StatusServiceUnavailable)
	seen = y.await(t, obj, "it is checked again on the interval and fails", failedWith(infrav1.ReasonHealthChecksFailed))
	want := "HTTP health check error: page, url: " + server.URL + "/(sensitive)\nit answered with status 503 Service Unavailable"
	for _, kind := range []string{infrav1.ConditionReady, infrav1.ConditionHealthCheck} {
		if c := condition(seen, kind); c.Message != want || c.Status != metav1.ConditionFalse {
			t.Errorf("%s: %s %q", kind, c.Status, c.Message)
		}
	}
	if first == 0 || seen.Status.ReconciliationFailures != 0 {
		t.Errorf("asked %d times, %d failures of runs", first, seen.Status.ReconciliationFailures)
	}
	lastRun := seen.Status.LastRun.ID
	status.Store(http.StatusOK)
	seen = y.await(t, obj, "it answers again", ready)
	if seen.Status.LastRun.ID != lastRun {
		t.Errorf("run %s was made because of that", seen.Status.LastRun.ID)
	}
	// Checks run after an apply and before the stack is ready. Another output changes the address.
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = program("other-path") })
	status.Store(http.StatusNotFound)
	y.await(t, obj, "what was applied does not answer", func(o *infrav1.Terraform) bool {
		return failedWith(infrav1.ReasonHealthChecksFailed)(o) && strings.Contains(condition(o, infrav1.ConditionReady).Message, "404")
	})
	change(t, y, obj, checking())
	seen = y.await(t, obj, "it is ready without checks", ready)
	if c := condition(seen, infrav1.ConditionHealthCheck); c.Type != "" {
		t.Errorf("%+v", c)
	}
	for _, line := range y.events(t, obj) {
		if strings.Contains(line, "private-path") || strings.Contains(line, "other-path") {
			t.Errorf("an event tells a sensitive output: %s", line)
		}
	}
}

func TestACheckOfAnOutputThatThereIsNotFails(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "unhealthy", `output "host" { value = "127.0.0.1" }`, auto,
		checking(infrav1.HealthCheck{Name: "db", Type: "tcp", Address: "${{ .hots }}:1"}))
	y.create(t, obj)
	seen := y.await(t, obj, "it is not ready", failedWith(infrav1.ReasonHealthChecksFailed))
	if m := condition(seen, infrav1.ConditionReady).Message; m != "health check db: spec.healthChecks[0].address: .hots has no value" {
		t.Error(m)
	}
	change(t, y, obj, checking(infrav1.HealthCheck{Name: "db", Type: "tcp", Address: "${{ .host }}:1", Timeout: &metav1.Duration{Duration: time.Second}}))
	y.await(t, obj, "the check was changed, and still fails", func(o *infrav1.Terraform) bool {
		return condition(o, infrav1.ConditionReady).Message == "TCP health check error: db, url: 127.0.0.1:1\nthe connection was refused"
	})
}
