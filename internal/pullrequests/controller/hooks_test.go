// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/event"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/limiter"
	"github.com/yuba-dev/yuba/internal/pullrequests/comment"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/pullrequests/hook"
)

func TestHooksOnlySayWhereToLook(t *testing.T) {
	r := &Reconciler{Log: slog.New(slog.DiscardHandler), now: time.Now, ctx: t.Context(), reading: limiter.New(1), woken: make(chan event.GenericEvent, 10)}
	m := &memory{name: types.NamespacedName{Namespace: "prod", Name: "prs"}, uid: "u", hookPath: HookPath + "abc", hookSecret: "secret-of-the-hook", hookKinds: []forge.Kind{forge.Gitea}}
	other := &memory{name: types.NamespacedName{Namespace: "stage", Name: "prs"}, uid: "v", hookPath: HookPath + "xyz", hookSecret: m.hookSecret, hookKinds: m.hookKinds}
	r.memories.add(m)
	r.memories.add(other)
	send := func(path, secret, body string) int {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(body))
		request := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, strings.NewReader(body))
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("X-Gitea-Event", "pull_request")
		request.Header.Set("X-Gitea-Signature", hex.EncodeToString(mac.Sum(nil)))
		w := httptest.NewRecorder()
		r.ServeHTTP(w, request)
		return w.Code
	}
	const opened = `{"action":"opened","number":5,"pull_request":{"number":5},"repository":{"id":77,"full_name":"acme/infra"},"sender":{"id":2,"login":"alice"}}`
	for _, c := range []struct {
		sentence, path, secret, body string
		code, events                 int
	}{
		{"an unknown path", HookPath + "abd", "secret-of-the-hook", opened, http.StatusNotFound, 0},
		{"no path", HookPath, "secret-of-the-hook", opened, http.StatusNotFound, 0},
		{"a forged hook", HookPath + "abc", "guessed", opened, http.StatusForbidden, 0},
		{"a hook", HookPath + "abc", "secret-of-the-hook", opened, http.StatusOK, 1},
		{"the same hook again", HookPath + "abc", "secret-of-the-hook", opened, http.StatusOK, 0},
		{"what is not JSON", HookPath + "abc", "secret-of-the-hook", "{", http.StatusBadRequest, 0},
	} {
		if code := send(c.path, c.secret, c.body); code != c.code {
			t.Errorf("%s: %d, want %d", c.sentence, code, c.code)
		}
		if events, _ := m.news(); len(events) != c.events {
			t.Errorf("%s: the events are %+v", c.sentence, events)
		}
	}
	if code := send(other.hookPath, "secret-of-the-hook", opened); code != http.StatusOK {
		t.Errorf("the hook of another planner: %d", code)
	}
	if events, _ := other.news(); len(events) != 1 {
		t.Errorf("the same hook to another planner is taken for a replay: %+v", events)
	}
}

func TestOurOwnCommentsAreNoNews(t *testing.T) {
	m := &memory{uid: "u"}
	mark := comment.Mark(markerOf(m))
	for sentence, c := range map[string]struct {
		event hook.Event
		want  bool
	}{
		"our comment":                 {hook.Event{Kind: hook.Comment, Text: "## Plans\n" + mark}, true},
		"a command":                   {hook.Event{Kind: hook.Comment, Text: "/yuba plan"}, false},
		"a comment of another server": {hook.Event{Kind: hook.Comment, Text: comment.Mark("yuba:v")}, false},
		"a push":                      {hook.Event{Kind: hook.Push, Text: mark}, false},
	} {
		if got := m.own(c.event); got != c.want {
			t.Errorf("%s: %v", sentence, got)
		}
	}
}

// polled is a forge that counts how often it is asked for all pull requests.
type polled struct {
	forge.Forge
	times int
}

func (p *polled) PullRequests(context.Context, time.Time) ([]forge.PullRequest, error) {
	p.times++
	return nil, nil
}

func TestHooksOfOneRepositoryLeaveTheOthersPolled(t *testing.T) {
	start := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	now := start
	r := &Reconciler{Log: slog.New(slog.DiscardHandler), now: func() time.Time { return now }}
	hooked, silent := &polled{}, &polled{}
	m := &memory{pulls: map[pullKey]*pull{}, links: map[string]*link{
		"hooked": {name: "hooked", source: repository("hooked"), forge: hooked, repository: forge.Repository{Name: "acme/infra"}},
		"silent": {name: "silent", source: repository("silent"), forge: silent, repository: forge.Repository{Name: "acme/dns"}},
	}}
	o := &yubav1.PullRequestPlanner{}
	o.Spec.Interval.Duration = time.Minute
	o.Spec.Webhook = &yubav1.PullRequestWebhook{}
	push := []hook.Event{{Kind: hook.Push, Repository: "acme/infra", Branch: "main"}}
	for _, step := range []struct {
		after          time.Duration
		hooks          []hook.Event
		asked          bool
		hooked, silent int
		next           time.Duration
	}{
		{0, nil, false, 1, 1, time.Minute},
		{time.Minute, push, false, 1, 2, 2 * time.Minute},
		{2 * time.Minute, nil, false, 1, 3, 3 * time.Minute},
		{59 * time.Minute, nil, false, 1, 4, hookedInterval},
		{hookedInterval, nil, false, 2, 5, hookedInterval + time.Minute},
		{hookedInterval + time.Second, nil, true, 3, 6, hookedInterval + time.Minute + time.Second},
	} {
		now, m.wants = start.Add(step.after), time.Time{}
		if err := r.refresh(t.Context(), o, m, step.hooks, step.asked); err != nil {
			t.Fatal(err)
		}
		if hooked.times != step.hooked || silent.times != step.silent || m.wants.Sub(start) != step.next {
			t.Errorf("after %v: asked %d and %d times, next at %v; want %d, %d, %v", step.after, hooked.times, silent.times, m.wants.Sub(start), step.hooked, step.silent, step.next)
		}
	}
}

// TestThereIsWorkWhileWebhooksAreLookedAt: and none while a poll finds nothing.
func TestThereIsWorkWhileWebhooksAreLookedAt(t *testing.T) {
	var said []bool
	r := &Reconciler{Busy: func(some bool) { said = append(said, some) }}
	r.busy(false)()
	if len(said) > 0 {
		t.Errorf("a poll says %v", said)
	}
	one, other := r.busy(true), r.busy(true)
	one()
	if !slices.Equal(said, []bool{true, true, true}) {
		t.Errorf("while there is one, it says %v", said)
	}
	if other(); said[len(said)-1] {
		t.Error("there is work after the last one")
	}
	(&Reconciler{}).busy(true)() // nobody asks
}
