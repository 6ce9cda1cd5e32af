// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/creack/pty"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/home"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// served are the figures and the queue of the tests' server.
var served struct {
	figures atomic.Pointer[content.Figures]
	queue   atomic.Pointer[content.Queue]
}

func serveFigures(o *home.Options) {
	h := &content.Handler{Log: slog.New(slog.DiscardHandler),
		Figures: func(context.Context) content.Figures { return *served.figures.Load() },
		Queue:   func(context.Context) content.Queue { return *served.queue.Load() }}
	o.Mount = func(*rest.Config) (map[string]http.Handler, error) {
		return map[string]http.Handler{content.PathPrefix + "/": h.ServeMux()}, nil
	}
}

// serveAFleet makes stacks that stand in different ways, in a namespace of the test's own, and a server with work.
func serveAFleet(t *testing.T) (namespace string) {
	t.Helper()
	namespace = apitest.Namespace(t)
	started := time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)
	at, seen := started.Add(3*time.Hour), started.Add(3*time.Hour)
	served.figures.Store(&content.Figures{At: at, Started: started, Version: "v9", Places: 2, AtWork: 1, Waiting: 1, Ended: 120, Failed: 3, LastMinute: 12, FailedLastMinute: 1,
		Skipped: 400, Server: run.Usage{MemoryBytes: 200 << 20, CPU: run.Duration(time.Minute)}, Runner: &run.Usage{MemoryBytes: 20 << 20, CPU: run.Duration(time.Second)},
		RunnerSeen: &seen, RunnerAlive: true,
		Slowest: []content.EndedRun{{Namespace: namespace, Name: "big", Operation: "plan", Outcome: "succeeded", Finished: at.Add(-time.Minute), Took: run.Duration(90 * time.Second)},
			{Namespace: "elsewhere", Name: "other", Operation: "plan", Finished: at, Took: run.Duration(time.Second)}}})
	began := at.Add(-30 * time.Second)
	served.queue.Store(&content.Queue{Items: []content.QueueEntry{
		{Namespace: namespace, Name: "vpc", Operation: "plan-and-apply", Phase: "applying", Urgency: "change", Trigger: "generation 3", Since: began, Started: &began},
		{Namespace: namespace, Name: "dns", Operation: "plan", Place: 1, Urgency: "drift", Trigger: "drift\x1b[31m interval", Since: began},
		{Namespace: "elsewhere", Name: "other", Operation: "plan", Place: 2, Urgency: "drift", Since: began}}})
	for name, condition := range map[string]metav1.Condition{
		"vpc": {Status: metav1.ConditionTrue, Reason: infrav1.ReasonApplied}, "dns": {Status: metav1.ConditionTrue, Reason: infrav1.ReasonApplied},
		"broken": {Status: metav1.ConditionFalse, Reason: infrav1.ReasonApplyFailed}, "moved": {Status: metav1.ConditionFalse, Reason: infrav1.ReasonDriftDetected},
	} {
		stackNamed(t, namespace, name, condition)
	}
	return namespace
}

func stackNamed(t *testing.T, namespace, name string, ready metav1.Condition) *infrav1.Terraform {
	t.Helper()
	c := apitest.Client(t)
	stack := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: infrav1.TerraformSpec{
		Interval: metav1.Duration{Duration: time.Hour}, SourceRef: &infrav1.CrossNamespaceSourceReference{Kind: "ExternalArtifact", Name: "missing"}}}
	if err := c.Create(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	ready.Type, ready.LastTransitionTime = infrav1.ConditionReady, metav1.Now()
	stack.Status.Conditions = []metav1.Condition{ready}
	if err := c.Status().Update(t.Context(), stack); err != nil {
		t.Fatal(err)
	}
	return stack
}

func TestTopOnce(t *testing.T) {
	apitest.API(t)
	ns := serveAFleet(t)
	want := `yuba v9  up 3h   server 200 MiB   runner 20 MiB
Stacks 4   2 ready   0 running   0 waiting for approval   1 failing   1 drifted
Runs   1 of 2 running   1 waiting   12 in the last minute (1 failed)
       since the start 120, 3 failed, 400 reconciliations skipped

RUNNING    RUN             PHASE     ELAPSED  WHY
NS/vpc  plan-and-apply  applying  30s      generation 3

WAITING (1)  RUN   PLACE  AGE  FOR    WHY
NS/dns    plan  1      30s  drift  drift\u001b[31m interval

SLOWEST RECENT  RUN   TOOK   ENDED    OUTCOME
NS/big       plan  1m30s  60s ago  succeeded
`
	got := yuba(t, ns, "top", "--once")
	got.out = spaces(strings.ReplaceAll(got.out, ns, "NS"))
	got.want(t, ui.ExitOK, spaces(want))
	var answer struct {
		Stacks  map[string]int
		Figures content.Figures
		Runs    []content.QueueEntry
	}
	if err := json.Unmarshal([]byte(yuba(t, ns, "top", "-o", "json").out), &answer); err != nil {
		t.Fatal(err)
	}
	if answer.Stacks["total"] != 4 || answer.Stacks["failing"] != 1 || answer.Figures.Ended != 120 || len(answer.Runs) != 2 || answer.Runs[0].Phase != "applying" {
		t.Errorf("%+v", answer)
	}
}

// spaces makes one space of several, for names of namespaces have different lengths.
func spaces(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

// terminal is a terminal and what it shows.
type terminal struct {
	t             *testing.T
	master, slave *os.File

	mu    sync.Mutex
	shown strings.Builder
}

// newTerminal opens a terminal of its own.
func newTerminal(t *testing.T, columns, rows uint16) *terminal {
	t.Helper()
	master, slave, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	c := &terminal{t: t, master: master, slave: slave}
	c.resize(columns, rows)
	go func() {
		buffer := make([]byte, 4096)
		for {
			n, err := master.Read(buffer)
			if err != nil {
				return
			}
			c.mu.Lock()
			c.shown.Write(buffer[:n])
			c.mu.Unlock()
		}
	}()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return c
}

func (c *terminal) resize(columns, rows uint16) {
	c.t.Helper()
	if err := pty.Setsize(c.master, &pty.Winsize{Rows: rows, Cols: columns}); err != nil {
		c.t.Fatal(err)
	}
}

// screens are what was shown, one for each time it was drawn.
func (c *terminal) screens() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.Split(c.shown.String(), "\x1b[H")[1:]
}

// until waits for a whole screen that is as it should be.
func (c *terminal) until(what string, is func(screen string) bool) {
	c.t.Helper()
	deadline := time.Now().Add(2 * time.Minute)
	for time.Now().Before(deadline) {
		for _, screen := range c.screens() {
			if strings.Contains(screen, "\x1b[J") && is(screen) {
				return
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	shown := c.shown.String()
	c.t.Fatalf("%s was not shown in two minutes:\n%q", what, shown[max(0, len(shown)-3000):])
}

func TestTopLive(t *testing.T) {
	apitest.API(t)
	ns := serveAFleet(t)
	t.Setenv("TERM", "xterm")
	c := newTerminal(t, 100, 20)
	ended := make(chan int, 1)
	go func() {
		ended <- Execute(context.Background(), []string{"--kubeconfig", apitest.API(t).Kubeconfig(), "-n", ns, "top"}, c.slave, c.slave, c.slave)
	}()
	c.until("the fleet", func(s string) bool { return strings.Contains(s, "Stacks 4") && strings.Contains(s, "1 failing") })
	// What changes is seen as it does.
	stackNamed(t, ns, "another", metav1.Condition{Status: metav1.ConditionFalse, Reason: infrav1.ReasonApplyFailed})
	c.until("a stack that fails", func(s string) bool { return strings.Contains(s, "Stacks 5") && strings.Contains(s, "2 failing") })
	figures := *served.figures.Load()
	later := figures.At.Add(time.Second)
	figures.At, figures.RunnerSeen, figures.Ended = later, &later, 121
	figures.Server.CPU += run.Duration(500 * time.Millisecond)
	figures.Runner = &run.Usage{MemoryBytes: 20 << 20, CPU: run.Duration(1100 * time.Millisecond), ChildCPU: run.Duration(900 * time.Millisecond)}
	served.figures.Store(&figures)
	c.until("the load", func(s string) bool {
		return strings.Contains(s, "200 MiB 50%") && strings.Contains(s, "20 MiB 10%") && strings.Contains(s, "tools 90%") && strings.Contains(s, "since the start 121")
	})
	// A smaller screen is filled and no more.
	before := len(c.screens())
	c.resize(40, 6)
	c.until("a small screen", func(s string) bool {
		lines := strings.Split(s, "\r\n")
		if len(c.screens()) <= before || len(lines) > 6 {
			return false
		}
		return strings.Contains(s, "Stacks 5") && !strings.Contains(s, "since the start")
	})
	if _, err := c.master.Write([]byte("q")); err != nil {
		t.Fatal(err)
	}
	select {
	case code := <-ended:
		if code != ui.ExitOK {
			t.Errorf("ended with %d", code)
		}
	case <-time.After(time.Minute):
		t.Fatal("q does not end it")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if shown := c.shown.String(); !strings.HasPrefix(shown, "\x1b[?1049h") || strings.Contains(shown, "\x1b[31m interval") {
		t.Errorf("the screen was not kept apart: %q", shown[:min(200, len(shown))])
	}
}
