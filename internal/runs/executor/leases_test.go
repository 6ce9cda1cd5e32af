// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// fakeBackend starts nothing. It tells of the ends that a test sends, and answers for the homes
// that a test names.
type fakeBackend struct {
	end, missed chan string

	mu      sync.Mutex
	kept    map[string]bool
	build   string
	missing string
}

func (b *fakeBackend) Run(ctx context.Context, runs backend.Demand) error {
	for {
		select {
		case home := <-b.end:
			runs.Ended(home, "")
		case home := <-b.missed:
			runs.Missed(home)
		case <-ctx.Done():
			return nil
		}
	}
}

func (b *fakeBackend) Keeps(home string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.kept[home]
}

func (b *fakeBackend) Starts(build string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.build == "" || build == b.build
}

func (b *fakeBackend) Place(string) (string, bool) { return "", true }

func (b *fakeBackend) Hinders(string) string { return "" }

func (b *fakeBackend) Misses(home string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if home != "" && b.missing == home {
		return "it hangs"
	}
	return ""
}

// misses says that a home does not report, and waits until the server knows.
func (b *fakeBackend) misses(home string) {
	b.mu.Lock()
	b.missing = home
	b.mu.Unlock()
	b.missed <- home
}

func (b *fakeBackend) starts(build string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.build = build
}

func (b *fakeBackend) keeps(homes ...string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.kept = map[string]bool{}
	for _, home := range homes {
		b.kept[home] = true
	}
}

// watched starts the server anew, with short leases, and lets it watch them.
func (h *home) watched(lease time.Duration) {
	h.lease = lease
	h.start()
	exec := h.exec
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- exec.Run(ctx) }()
	h.t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
}

// ask is a poll of the runner of a home; it is answered at once.
func (h *home) ask(home string, capacity int, active ...string) run.PollResponse {
	h.t.Helper()
	return h.pollWith(run.PollRequest{Runner: home + "-1", Home: home, Capacity: capacity, Active: append(active, ghost)})
}

// inPods has two stacks' runs begun by two runners, each in a home of its own.
func inPods(h *home) (first, second run.Stack) {
	h.t.Helper()
	first, second = h.stack, h.stack
	second.Name = "second"
	for _, r := range []struct {
		stack    run.Stack
		id, home string
	}{{first, "r1", "pod-1"}, {second, "r2", "pod-2"}} {
		h.stack = r.stack
		h.begin(h.record(r.id))
		if got := h.ask(r.home, 1).Runs; len(got) != 1 || got[0].ID != r.id {
			h.t.Fatalf("%s was given %+v, want %s", r.home, got, r.id)
		}
		h.mustDo(http.StatusOK, h.of(r.id, "GET", ""))
	}
	h.stack = first
	return first, second
}

// over waits until a run of the stack is over, and returns its result.
func (h *home) over(stack run.Stack, id string) run.Result {
	h.t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		rec, err := h.exec.Record(h.t.Context(), stack, id)
		if err == nil && rec.Result != nil {
			return *rec.Result
		}
		if time.Now().After(deadline) {
			h.t.Fatalf("run %s is not over: %v", id, err)
		}
		time.Sleep(time.Millisecond)
	}
}

// working demands that a run of the stack is in hand.
func (h *home) working(stack run.Stack, id string) {
	h.t.Helper()
	if rec, _, ok := h.exec.InHand(stack); !ok || rec.Spec.ID != id {
		h.t.Errorf("run %s of %s is not in hand: %+v", id, stack, rec.Result)
	}
}

// A home that hangs keeps what it has begun, and what it has not begun goes to another home. If it
// wakes, its token for that is void.
func TestWhatASilentHomeHasNotBegunGoesElsewhere(t *testing.T) {
	h := newHome(t)
	h.watched(time.Hour)
	first, second := inPods(h)
	h.backend.keeps("pod-1", "pod-2")
	third := first
	third.Name = "third"
	h.stack = third
	h.begin(h.record("r3"))
	given := h.ask("pod-1", 1, "r1").Runs
	if len(given) != 1 || given[0].ID != "r3" {
		t.Fatalf("pod-1 was given %+v", given)
	}
	h.backend.misses("pod-1")
	h.stack = first
	if rec, _, _ := h.exec.InHand(first); rec.Waits != run.WaitsForReport+"it hangs" {
		t.Errorf("r1 waits for %q", rec.Waits)
	}
	var again []run.Assignment
	deadline := time.Now().Add(20 * time.Second)
	for len(again) == 0 && time.Now().Before(deadline) {
		again = h.ask("pod-2", 1, "r2").Runs
	}
	if len(again) != 1 || again[0].ID != "r3" || again[0].Token == given[0].Token {
		t.Fatalf("pod-2 was given %+v after pod-1 was given %+v", again, given)
	}
	get := func(token string) int {
		r := h.of("r3", "GET", "")
		r.token = token
		status, _ := h.do(r)
		return status
	}
	if old, now := get(given[0].Token), get(again[0].Token); old != http.StatusUnauthorized || now != http.StatusOK {
		t.Errorf("the tokens are answered by %d and %d", old, now)
	}
	h.working(first, "r1")
	h.working(second, "r2")
	h.working(third, "r3")
}

func TestAPollOfOneHomeTouchesNoRunOfAnother(t *testing.T) {
	h := newHome(t)
	first, second := inPods(h)
	if rec, _, _ := h.exec.InHand(first); rec.Home != "pod-1" || rec.Runner != "pod-1-1" {
		t.Errorf("r1 is with %q in %q", rec.Runner, rec.Home)
	}
	for _, other := range []string{"pod-2", "pod-3", "", run.HomeLocal} {
		active := []string{}
		if other == "pod-2" {
			active = append(active, "r2")
		}
		if got := h.ask(other, 1, active...); len(got.Runs) != 0 {
			t.Errorf("%q was given %+v", other, got.Runs)
		}
		h.working(first, "r1")
		h.working(second, "r2")
	}
	if got := h.ask("pod-1", 1); !cmp.Equal(got.Forget, []string{ghost}) {
		t.Errorf("answered %+v", got)
	}
	if got := h.over(first, "r1"); got.Outcome != run.OutcomeInterrupted {
		t.Errorf("the runner of r1 has it no longer: %+v", got)
	}
	h.working(second, "r2")
}

func TestARunnerThatNamesAnotherHomesRunMustForgetIt(t *testing.T) {
	h := newHome(t)
	first, _ := inPods(h)
	if err := h.exec.Cancel(t.Context(), "r1"); err != nil {
		t.Fatal(err)
	}
	got := h.ask("pod-2", 1, "r2", "r1")
	if diff := cmp.Diff(run.PollResponse{Forget: []string{ghost, "r1"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	h.working(first, "r1")
	if got := h.ask("pod-1", 1, "r1"); !cmp.Equal(got.Cancel, []string{"r1"}) {
		t.Errorf("its own runner: answered %+v", got)
	}
}

func TestARunnerWithoutAHomeIsTheLocalOne(t *testing.T) {
	h := newHome(t)
	h.started(h.record("r1")) // by a runner of an earlier release
	next := run.PollRequest{Runner: "next", Home: run.HomeLocal, Active: []string{"r1", ghost}}
	if got := h.pollWith(next); !cmp.Equal(got.Forget, []string{ghost}) {
		t.Errorf("answered %+v", got)
	}
	if got := h.poll("one", 4, ghost); !got.Drain {
		t.Errorf("the runner whose place it took: %+v", got)
	}
	h.working(h.stack, "r1")
	if rec, _, _ := h.exec.InHand(h.stack); rec.Home != "" {
		t.Errorf("on record in home %q, which earlier releases do not know", rec.Home)
	}
	next.Active = []string{ghost}
	h.pollWith(next)
	if got := h.over(h.stack, "r1"); got.Outcome != run.OutcomeInterrupted {
		t.Errorf("result %+v", got)
	}
}

func TestRunsAreLostWhenTheLeaseOfTheirHomeEnds(t *testing.T) {
	h := newHome(t)
	h.backend.keeps("pod-2")
	h.watched(300 * time.Millisecond)
	first, second := inPods(h)
	if got := h.over(first, "r1"); got.Outcome != run.OutcomeInterrupted || !strings.Contains(got.Error, "has not reported for 300ms") {
		t.Errorf("result %+v", got)
	}
	h.working(second, "r2") // its backend knows that it lives
	if got := h.ask("pod-1", 1, "r1"); !cmp.Equal(got.Forget, []string{"r1", ghost}) {
		t.Errorf("a runner that comes back: answered %+v", got)
	}
	h.mustDo(http.StatusGone, h.of("r1", "PUT", "/state", []byte(stateOf(1))).with(run.HeaderSequence, "1"))
	h.mustDo(http.StatusGone, h.of("r1", "POST", "/result", succeeded()))
	if got := h.over(first, "r1"); got.Outcome != run.OutcomeInterrupted {
		t.Errorf("the result it came back with counts: %+v", got)
	}
}

func TestWhatARunnerShipsRenewsItsLease(t *testing.T) {
	h := newHome(t)
	const lease = 400 * time.Millisecond
	h.watched(lease)
	first, second := inPods(h)
	for began := time.Now(); time.Since(began) < 2*lease; time.Sleep(lease / 20) {
		h.mustDo(http.StatusOK, h.of("r1", "GET", "/log"))
	}
	h.over(second, "r2")
	h.working(first, "r1")
}

func TestAHomeThatIsGoneLosesItsRunsAtOnce(t *testing.T) {
	h := newHome(t)
	h.watched(time.Hour)
	first, second := inPods(h)
	h.stack.Name = "third"
	third := h.stack
	h.begin(h.record("r3"))
	if got := h.ask("pod-1", 1, "r1").Runs; len(got) != 1 {
		t.Fatalf("given %+v", got)
	}
	h.backend.end <- "pod-1"
	h.over(first, "r1")
	h.backend.end <- "nobody's" // the end before is dealt with
	h.working(second, "r2")
	h.working(third, "r3")
	if got := h.ask("pod-2", 1, "r2").Runs; len(got) != 1 || got[0].ID != "r3" {
		t.Errorf("its runner had not begun r3, and the next is given %+v", got)
	}
}

func TestTheEndOfARunnerThatIsFollowedDecidesNothing(t *testing.T) {
	h := newHome(t)
	h.backend.keeps(run.HomeLocal)
	h.watched(50 * time.Millisecond)
	h.started(h.record("r1"))
	h.backend.end <- run.HomeLocal
	h.backend.end <- run.HomeLocal
	time.Sleep(100 * time.Millisecond) // two leases
	h.working(h.stack, "r1")
	h.nothingFor("the next", "r1")
	h.working(h.stack, "r1")
}

func TestANewServerWaitsForEachHome(t *testing.T) {
	h := newHome(t)
	first, second := inPods(h)
	h.stack.Name = "third"
	third := h.stack
	h.begin(h.record("r3"))
	h.ask("pod-2", 1, "r2")
	h.stack = second
	h.mustDo(http.StatusNoContent, h.of("r2", "GET", "/state"))
	h.start()
	for stack, id := range map[run.Stack]string{first: "r1", second: "r2", third: "r3"} {
		if rec, err := h.exec.Resume(t.Context(), stack, id); err != nil || rec.Result != nil {
			t.Fatalf("%+v, %v", rec.Result, err)
		}
	}
	if got := h.ask("pod-3", 4).Runs; len(got) != 0 {
		t.Errorf("a new home was given %+v, which others may have", got)
	}
	if got := h.ask("pod-1", 4, "r1").Runs; len(got) != 0 {
		t.Errorf("the first home was given %+v", got)
	}
	if got := h.ask("pod-2", 4, "r2").Runs; len(got) != 1 || got[0].ID != "r3" {
		t.Errorf("the second home has not heard of r3, and is given %+v", got)
	}
	h.working(first, "r1")
	h.working(second, "r2")
}

func TestARunIsNotHandedToAHomeThatCannotBePutOnRecord(t *testing.T) {
	h := newHome(t)
	h.begin(h.record("r1"))
	h.faults.set("put "+run.BlobRecord, true)
	if got := h.ask("pod-1", 1).Runs; len(got) != 0 {
		t.Errorf("given %+v", got)
	}
	h.faults.set("put "+run.BlobRecord, false)
	if got := h.ask("pod-1", 1).Runs; len(got) != 1 || h.stored("r1").Home != "pod-1" {
		t.Errorf("given %+v, on record in %q", got, h.stored("r1").Home)
	}
}
