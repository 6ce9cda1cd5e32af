// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/web/history"
)

func TestCircuits(t *testing.T) {
	for sentence, test := range map[string]struct {
		mode  yubav1.CircuitBreakerMode
		state yubav1.CircuitBreakerState
		want  string
	}{
		"an outage":              {yubav1.ModeAutomatic, yubav1.StateOpen, "failed Open: Close, Keep open"},
		"a probe succeeded":      {yubav1.ModeAutomatic, yubav1.StateHalfOpen, "waiting HalfOpen: Close, Keep open"},
		"it is over":             {yubav1.ModeAutomatic, yubav1.StateClosed, "ready Closed: Keep open"},
		"maintenance":            {yubav1.ModeOpen, yubav1.StateOpen, "suspended kept open: Resume"},
		"a person has closed it": {yubav1.ModeClosed, yubav1.StateClosed, "ready kept closed: Keep open"},
	} {
		o := &yubav1.CircuitBreaker{Spec: yubav1.CircuitBreakerSpec{Mode: test.mode}, Status: yubav1.CircuitBreakerStatus{State: test.state}}
		c := circuitOf(o)
		var labels []string
		for _, b := range turnings(o) {
			labels = append(labels, b.Label)
		}
		if got := fmt.Sprintf("%s %s: %s", c.State, c.Word, strings.Join(labels, ", ")); got != test.want {
			t.Errorf("%s: %s, want %s", sentence, got, test.want)
		}
	}
}

func TestQueue(t *testing.T) {
	rows := queuedOf([]content.QueueEntry{{Name: "a", Phase: "planning"}, {Name: "b", Place: 1}, {Name: "c", Place: 2, Waits: "a lock"}})
	var lines []string
	for _, r := range rows {
		lines = append(lines, r.Name+" "+r.State+" "+r.Doing)
	}
	if got := strings.Join(lines, "|"); got != "a running planning|b waiting its turn|c waiting a lock" {
		t.Error(got)
	}
}

func TestUnproven(t *testing.T) {
	with := &infrav1.Terraform{}
	with.Namespace, with.Name = "a", "b"
	with.Status.Unproven = &infrav1.UnprovenStatus{Resources: make([]infrav1.UnprovenResource, 2), Runs: []infrav1.UnprovenRun{{ID: "1"}, {ID: "2", More: 3}}}
	if got := fmt.Sprint(unprovenOf([]*infrav1.Terraform{{}, with})); got != "[{{a/b /stacks/a/b} 5 2}]" {
		t.Error(got)
	}
}

func TestPlot(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	at := func(minute, working int) history.Sample {
		return history.Sample{At: start.Add(time.Duration(minute) * time.Minute), Working: working, Places: 4}
	}
	working := func(s history.Sample) float64 { return float64(s.Working) }
	p := plotOf("Runs", []history.Sample{at(0, 0), at(1, 2), at(30, 1)}, whole, working, func(s history.Sample) float64 { return float64(s.Places) })
	if p.Line != "M0.0 80.0L20.0 41.0M600.0 60.5" || p.Second != "M0.0 2.0L20.0 2.0M600.0 2.0" {
		t.Errorf("%s\n%s", p.Line, p.Second)
	}
	if p.Says != "Runs: 1 now, at most 2, at 03:01 UTC" {
		t.Error(p.Says)
	}
	if p := plotOf("None", nil, whole, working, nil); p.Line != "" {
		t.Errorf("%+v", p)
	}
	for v, want := range map[float64]string{0: "0 B", 999: "999 B", 1.5e6: "1.5 MB", 2e15: "2e+03 TB"} {
		if got := size(v); got != want {
			t.Errorf("%v: %s, want %s", v, got, want)
		}
	}
}
