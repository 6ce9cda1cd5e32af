// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

// locking is a stack in the API that follows a GitRepository, and a planner's memory.
type locking struct {
	*Reconciler
	m       *memory
	l       *link
	ns, key string
}

func newLocking(t *testing.T) *locking {
	t.Helper()
	c, ns := apitest.Client(t), apitest.Namespace(t)
	source := &sourcev1.GitRepository{}
	source.Namespace, source.Name, source.Spec.URL = ns, "infra", "https://git.example.com/acme/infra"
	stack := &infrav1.Terraform{}
	stack.Namespace, stack.Name = ns, "net"
	stack.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: sourcev1.GitRepositoryKind, Name: "infra"}
	stack.Spec.ApprovePlan = infrav1.ApprovePlanAuto
	for _, o := range []client.Object{source, stack} {
		if err := c.Create(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return &locking{ns: ns, key: ns + "/net", m: &memory{uid: "planner-" + ns, pulls: map[pullKey]*pull{}, holds: map[pullKey][]*infrav1.Terraform{}, links: map[string]*link{}, followed: []string{"infra"}},
		l:          &link{name: "infra", source: source, identity: "git.example.com/acme/infra"},
		Reconciler: &Reconciler{Client: c, Reader: c, Events: events.NewFakeRecorder(100), now: time.Now, Log: slog.New(slog.DiscardHandler)}}
}

func (k *locking) pull(number int) *pull {
	commit := fmt.Sprintf("%040d", number)
	return &pull{Source: "infra", Head: commit, Found: true, Now: forge.PullRequest{Number: number, State: forge.Open, URL: fmt.Sprintf("https://git.example.com/%d", number), Head: forge.End{Commit: commit}}}
}

func (k *locking) hold(t *testing.T) *infrav1.PullRequestHold {
	t.Helper()
	stack, err := k.live(t.Context(), k.key)
	if err != nil {
		t.Fatal(err)
	}
	return stack.PullRequestHold()
}

func TestOnlyOnePullRequestLocksAStack(t *testing.T) {
	k := newLocking(t)
	var wg sync.WaitGroup
	results := make([]error, 8)
	for i := range results {
		wg.Add(1)
		go func() {
			defer wg.Done()
			_, results[i] = k.lock(t.Context(), k.m, k.l, k.pull(i+1), k.key, time.Now())
		}()
	}
	wg.Wait()
	locked := 0
	for i, err := range results {
		var blocked *blockedError
		switch {
		case err == nil:
			locked++
			if h := k.hold(t); h == nil || h.Number != i+1 {
				t.Errorf("pull request %d has the lock, and the stack says %+v", i+1, h)
			}
		case !errors.As(err, &blocked) && !apierrors.IsConflict(errors.Unwrap(err)) && !apierrors.IsConflict(err):
			t.Errorf("pull request %d: %v", i+1, err)
		}
	}
	if locked != 1 {
		t.Errorf("%d pull requests have the lock", locked)
	}
}

func TestALockedStackReturnsToItsSource(t *testing.T) {
	k := newLocking(t)
	first, second := k.pull(7), k.pull(8)
	if _, err := k.pin(t.Context(), k.m, k.l, first.Head); err != nil {
		t.Fatal(err)
	}
	locked, err := k.lock(t.Context(), k.m, k.l, first, k.key, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if ref := locked.ProgramSource(); ref.Name != pinName(k.l, first.Head) || locked.Spec.SourceRef.Name != "infra" {
		t.Errorf("it runs %+v of %+v", ref, locked.Spec.SourceRef)
	}
	var blocked *blockedError
	if _, err := k.lock(t.Context(), k.m, k.l, second, k.key, time.Now()); !errors.As(err, &blocked) || blocked.by != first.key() || !strings.Contains(err.Error(), "infra#7") {
		t.Errorf("a second pull request: %v", err)
	}
	if again, err := k.lock(t.Context(), k.m, k.l, first, k.key, time.Now()); err != nil || again.ResourceVersion != locked.ResourceVersion {
		t.Errorf("a repeated lock writes: %v", err)
	}
	// What a new server knows is what the stacks say.
	if err := k.findHolds(t.Context(), k.m); err != nil || len(k.m.holds[first.key()]) != 1 {
		t.Fatalf("the holds are %+v, %v", k.m.holds, err)
	}
	k.m.pulls[first.key()] = first
	k.now = func() time.Time { return time.Now().Add(time.Hour) }
	if err := k.unpin(t.Context(), k.m); err != nil {
		t.Fatal(err)
	}
	if pin, err := k.pinned(t.Context(), k.l, locked, locked.PullRequestHold()); err != nil || pin == nil || pin.Spec.Reference.Commit != first.Head || pin.Spec.URL != k.l.source.Spec.URL {
		t.Fatalf("the commit that a stack runs is %+v, %v", pin, err)
	}
	if freed, err := k.free(t.Context(), k.m, first, nil, false); err != nil || len(freed) != 1 {
		t.Fatalf("freed are %v, %v", freed, err)
	}
	if h := k.hold(t); h == nil || !h.Released {
		t.Errorf("an unlocked stack would be reverted without an approval: %+v", h)
	}
	if err := k.unpin(t.Context(), k.m); err != nil {
		t.Fatal(err)
	}
	if pin, err := k.pinned(t.Context(), k.l, locked, locked.PullRequestHold()); err != nil || pin != nil {
		t.Errorf("the commit that no stack runs is still there: %v, %v", pin, err)
	}
	// On its way back, it can be locked again, and after a merge nothing holds it.
	if _, err := k.lock(t.Context(), k.m, k.l, second, k.key, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := k.findHolds(t.Context(), k.m); err != nil {
		t.Fatal(err)
	}
	if _, err := k.free(t.Context(), k.m, second, nil, true); err != nil || k.hold(t) != nil {
		t.Errorf("after a merge: %+v, %v", k.hold(t), err)
	}
}

func TestStacksOfADeletedPlannerAreReleased(t *testing.T) {
	k := newLocking(t)
	if _, err := k.lock(t.Context(), k.m, k.l, k.pull(7), k.key, time.Now()); err != nil {
		t.Fatal(err)
	}
	if err := k.releaseOrphans(t.Context()); err != nil { // no planner has that uid
		t.Fatal(err)
	}
	if h := k.hold(t); h == nil || !h.Released {
		t.Errorf("the stack is %+v", h)
	}
}

func TestAForeignGitRepositoryIsNotUsed(t *testing.T) {
	k := newLocking(t)
	p := k.pull(7)
	foreign := &sourcev1.GitRepository{}
	foreign.Namespace, foreign.Name, foreign.Spec.URL = k.ns, pinName(k.l, p.Head), "https://evil.example.com/x"
	if err := k.Client.Create(t.Context(), foreign); err != nil {
		t.Fatal(err)
	}
	var blocked *blockedError
	if _, err := k.pin(t.Context(), k.m, k.l, p.Head); !errors.As(err, &blocked) {
		t.Errorf("it is used: %v", err)
	}
}
