// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"

	"github.com/yuba-dev/yuba/internal/gitops/notify/send"
	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

// patience is the time limit on a busy machine.
const patience = 2 * time.Minute

// sink is a real service that can be down, hang or refuse.
type sink struct {
	*httptest.Server
	mu     sync.Mutex
	got    []eventv1.Event
	bodies []string
	tokens []string
	asked  int
	status int
	header map[string]string
}

func newSink(t *testing.T) *sink {
	s := &sink{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asked++
		for name, value := range s.header {
			w.Header().Set(name, value)
		}
		if s.status != 0 {
			w.WriteHeader(s.status)
			return
		}
		var e eventv1.Event
		if err == nil {
			json.Unmarshal(body, &e)
		}
		s.got, s.bodies, s.tokens = append(s.got, e), append(s.bodies, string(body)), append(s.tokens, r.Header.Get("Authorization"))
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *sink) set(status int, header map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.status, s.header = status, header
}

func (s *sink) messages() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all []string
	for _, e := range s.got {
		all = append(all, e.Message)
	}
	return all
}

func (s *sink) attempts() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked
}

// eventually waits until a condition holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	deadline := time.Now().Add(patience)
	for !holds() {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen in %s", what, patience)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// forwarder starts a dispatcher with one service and no API. stop ends it as the server does.
func forwarder(t *testing.T, dir, address string) (d *Dispatcher, log *proctest.Log, stop func()) {
	log = &proctest.Log{}
	d = &Dispatcher{Dir: dir, EventsAddr: address, Events: &recorded{}, Pause: 10 * time.Millisecond, Log: slog.New(slog.NewTextHandler(log, nil))}
	d.Prepare()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := d.Start(ctx); err != nil {
			t.Error(err)
		}
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return d, log, stop
}

func offer(d *Dispatcher, messages ...string) {
	for _, m := range messages {
		d.Offer(*event("Kustomization", "app", "info", m))
	}
}

func numbered(from, to int) (all []string) {
	for i := from; i < to; i++ {
		all = append(all, fmt.Sprintf("message %d", i))
	}
	return all
}

func files(t *testing.T, dir string) int {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return len(entries)
}

func TestEventsAreForwardedAsTheyAre(t *testing.T) {
	s := newSink(t)
	d, _, _ := forwarder(t, t.TempDir(), s.URL)
	e := *event("Kustomization", "app", "error", "failed")
	e.Metadata = map[string]string{"kustomize.toolkit.fluxcd.io/revision": newCommit, "event.toolkit.fluxcd.io/env": "prod"}
	d.Offer(e)
	eventually(t, "the event's arrival", func() bool { return len(s.messages()) == 1 })
	s.mu.Lock()
	defer s.mu.Unlock()
	if got := s.got[0]; got.Metadata["kustomize.toolkit.fluxcd.io/revision"] != newCommit || got.Metadata["event.toolkit.fluxcd.io/env"] != "prod" || got.Severity != "error" {
		t.Errorf("%+v", got)
	}
}

// After an outage, a service gets all messages in order; meanwhile attempts are limited.
func TestDeliveriesOutliveAnOutage(t *testing.T) {
	s, dir := newSink(t), filepath.Join(t.TempDir(), "waiting")
	s.set(http.StatusBadGateway, nil)
	d, log, _ := forwarder(t, dir, s.URL)
	offer(d, numbered(0, 50)...)
	eventually(t, "several attempts", func() bool { return s.attempts() > 3 })
	eventually(t, "everything's being on disk", func() bool { return files(t, dir) == 50 })
	s.set(0, nil)
	eventually(t, "everything's arrival", func() bool { return len(s.messages()) == 50 })
	if got := s.messages(); !slices.Equal(got, numbered(0, 50)) {
		t.Errorf("%q", got)
	}
	eventually(t, "the files' end", func() bool { return files(t, dir) == 0 })
	eventually(t, "the outage's end in the log", func() bool { return log.Count("accepts notifications again") == 1 })
	if n := log.Count("does not accept notifications"); n != 1 {
		t.Errorf("the outage is reported %d times", n)
	}
}

func TestWhatWaitsIsBounded(t *testing.T) {
	s, dir := newSink(t), t.TempDir()
	s.set(http.StatusServiceUnavailable, nil)
	d, log, _ := forwarder(t, dir, s.URL)
	offer(d, numbered(0, maxWaiting+100)...)
	q := d.queues.get(d, eventsQueue)
	eventually(t, "the oldest's loss", func() bool { q.mu.Lock(); defer q.mu.Unlock(); return q.lost == 100 && len(q.waiting) == maxWaiting })
	long := strings.Repeat("x", maxMessage)
	offer(d, slices.Repeat([]string{long}, 60)...)
	eventually(t, "the loss by bytes", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.lost > 160 && q.bytes <= maxWaitingBytes && q.waiting[len(q.waiting)-1].Message.Event.Message == long
	})
	eventually(t, "the files' following", func() bool { q.mu.Lock(); n := len(q.waiting); q.mu.Unlock(); return files(t, dir) == n })
	s.set(0, nil)
	eventually(t, "the outage's end in the log", func() bool { return log.Count("accepts notifications again") == 1 })
	// The first one is being sent, and is not dropped.
	if got := s.messages(); got[0] != "message 0" {
		t.Errorf("the first is %.20q", got[0])
	}
}

// A stopping server leaves waiting deliveries to the next one, even the last events.
func TestDeliveriesOutliveTheServer(t *testing.T) {
	s, dir := newSink(t), t.TempDir()
	s.set(http.StatusServiceUnavailable, map[string]string{"Retry-After": "3000"})
	d, _, stop := forwarder(t, dir, s.URL)
	offer(d, numbered(0, 5)...)
	eventually(t, "the first attempt", func() bool { return s.attempts() > 0 })
	offer(d, numbered(5, 10)...)
	stop()
	if s.attempts() != 1 {
		t.Errorf("a service that requested a delay was called %d times", s.attempts())
	}
	for name, content := range map[string]string{"0-half.json.new": `{"provider"`, "1-broken.json": `{`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(dir, "2-link.json")); err != nil {
		t.Fatal(err)
	}
	s.set(0, nil)
	_, log, _ := forwarder(t, dir, s.URL)
	eventually(t, "everything's arrival", func() bool { return len(s.messages()) == 10 })
	if got := s.messages(); !slices.Equal(got, numbered(0, 10)) {
		t.Errorf("%q", got)
	}
	eventually(t, "the files' end", func() bool { return files(t, dir) == 0 })
	if n := log.Count("was dropped"); n != 3 {
		t.Errorf("%d files were logged as dropped, want 3", n)
	}
}

func TestWhatIsRefusedIsNotSentAgain(t *testing.T) {
	s := newSink(t)
	s.set(http.StatusNotFound, nil)
	d, log, _ := forwarder(t, t.TempDir(), s.URL+"/s3cret")
	offer(d, "one", "two")
	eventually(t, "both attempts", func() bool { return s.attempts() == 2 })
	s.set(0, nil)
	offer(d, "three")
	eventually(t, "the third", func() bool { return slices.Equal(s.messages(), []string{"three"}) })
	if log.Count("404") == 0 || log.Count("s3cret") != 0 {
		t.Error("the log does not mention it, or contains the address")
	}
}

// Recording an event takes equally long with and without alerts.
func TestOfferNeverWaits(t *testing.T) {
	hung := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-hung }))
	defer s.Close()
	defer close(hung)
	d, _, stop := forwarder(t, t.TempDir(), s.URL)
	for range 20 * offered {
		offer(d, "m")
	}
	stop()
	stopped := &Dispatcher{Log: slog.New(slog.DiscardHandler)}
	stopped.Prepare()
	for range 2 * offered {
		offer(stopped, "m")
	}
	if n := stopped.dropped.Load(); n != offered {
		t.Errorf("%d are dropped, want %d", n, offered)
	}
	stopped.Wait(t.Context())
}

func TestGoneAddressesLeaveNothing(t *testing.T) {
	s, dir := newSink(t), t.TempDir()
	s.set(http.StatusServiceUnavailable, nil)
	d, _, stop := forwarder(t, dir, s.URL)
	offer(d, "m")
	eventually(t, "the file", func() bool { return files(t, dir) == 1 })
	stop()
	d, _, _ = forwarder(t, dir, "")
	eventually(t, "the file's end", func() bool { return files(t, dir) == 0 })
	if target, err := d.target(t.Context(), &delivery{Provider: eventsQueue, Message: send.Message{}}); err == nil {
		t.Errorf("%+v", target)
	}
}
