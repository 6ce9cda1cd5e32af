// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/blob"
	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// keeping is a keeper over real stores.
type keeping struct {
	*keeper
	t     *testing.T
	dir   string
	blobs *blob.Store
	exec  *executor.Executor
}

func newKeeping(t *testing.T, keep Retention) *keeping {
	t.Helper()
	k := &keeping{t: t, dir: filepath.Join(t.TempDir(), "blobs")}
	key, err := blob.LoadOrCreateKey(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	if k.blobs, err = blob.Open(t.Context(), "file://"+k.dir, key); err != nil {
		t.Fatal(err)
	}
	k.exec, err = executor.New(executor.Options{Blobs: k.blobs, LiveDir: t.TempDir(), ShellDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	c := apitest.Client(t)
	k.keeper = newKeeper(&keeper{keep: keep, runs: k.exec, states: state.New(c, k.blobs), names: k.blobs, stacks: c, now: time.Now, log: slog.New(slog.DiscardHandler)})
	return k
}

// stack makes a stack that is there.
func (k *keeping) stack(namespace, name string, status func(*infrav1.TerraformStatus)) run.Stack {
	k.t.Helper()
	c := apitest.Client(k.t)
	obj := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: infrav1.TerraformSpec{Interval: metav1.Duration{Duration: time.Hour}, Inline: map[string]string{"main.tf": ""}}}
	if err := c.Create(k.t.Context(), obj); err != nil {
		k.t.Fatal(err)
	}
	if status != nil {
		status(&obj.Status)
		if err := c.Status().Update(k.t.Context(), obj); err != nil {
			k.t.Fatal(err)
		}
	}
	return run.Stack{Namespace: namespace, Name: name, UID: string(obj.UID)}
}

// leave stores what a run left that long ago.
func (k *keeping) leave(stack run.Stack, id string, ago time.Duration) run.Record {
	k.t.Helper()
	rec := run.Record{Spec: run.Spec{ID: id, Stack: stack}, Result: &run.Result{Outcome: run.OutcomeSucceeded,
		Plan: &run.PlanResult{Changes: true, ChangesDigest: "sha256:same"}}}
	if err := k.exec.Prepare(k.t.Context(), rec); err != nil {
		k.t.Fatal(err)
	}
	k.put(stack.Key(id, run.BlobLog), ago)
	k.aged(stack.Key(id, run.BlobRecord), ago)
	return rec
}

func (k *keeping) put(key string, ago time.Duration) {
	k.t.Helper()
	if err := k.blobs.PutBytes(k.t.Context(), key, []byte("x")); err != nil {
		k.t.Fatal(err)
	}
	k.aged(key, ago)
}

func (k *keeping) aged(key string, ago time.Duration) {
	k.t.Helper()
	at := time.Now().Add(-ago)
	if err := os.Chtimes(filepath.Join(k.dir, key), at, at); err != nil {
		k.t.Fatal(err)
	}
}

// there lists the ids of a stack's runs.
func (k *keeping) there(stack run.Stack) []string {
	k.t.Helper()
	records, err := k.exec.List(k.t.Context(), stack, 1000)
	if err != nil {
		k.t.Fatal(err)
	}
	var ids []string
	for _, rec := range records {
		ids = append(ids, rec.Spec.ID)
	}
	slices.Reverse(ids)
	return ids
}

// day lets all slots of a day have their turn.
func (k *keeping) day() {
	k.t.Helper()
	for slot := range slots {
		if err := k.turn(k.t.Context(), slot); err != nil {
			k.t.Fatal(err)
		}
	}
}

const testDay = 24 * time.Hour

func TestOfEveryStackWhatIsTooOldOrTooManyGoes(t *testing.T) {
	namespace := apitest.Namespace(t)
	k := newKeeping(t, Retention{Runs: 2, RunAge: 90 * testDay, States: 100, StateAge: 90 * testDay})
	often := k.stack(namespace, "often", func(s *infrav1.TerraformStatus) {
		s.LastAppliedRun, s.Plan.RunID, s.LastRun = "r1", "r2", &lastRun
	})
	seldom := k.stack(namespace, "seldom", nil)
	before := run.Stack{Namespace: namespace, Name: "seldom", UID: "before"}
	gone := run.Stack{Namespace: namespace, Name: "gone", UID: "g"}
	for i := range 6 {
		k.leave(often, fmt.Sprintf("r%d", i), time.Duration(6-i)*testDay)
	}
	k.leave(seldom, "old", 100*testDay)
	k.leave(before, "recent", 80*testDay)
	k.leave(gone, "old", 91*testDay)
	k.put(gone.LockFileKey(), 91*testDay)
	k.day()
	for stack, want := range map[run.Stack][]string{often: {"r1", "r2", "r3", "r4", "r5"}, seldom: nil, before: {"recent"}, gone: nil} {
		if diff := cmp.Diff(want, k.there(stack)); diff != "" {
			t.Errorf("runs of %s (-want +got):\n%s", stack, diff)
		}
	}
	if there, err := k.blobs.Exists(t.Context(), gone.LockFileKey()); err != nil || there {
		t.Errorf("the lock file of what is gone is there: %v, %v", there, err)
	}
}

var lastRun = infrav1.RunReference{ID: "r3", Operation: "plan"}

func TestStatesWithoutAStackGoWithTheirTime(t *testing.T) {
	namespace := apitest.Namespace(t)
	k := newKeeping(t, Retention{States: 1, StateAge: 90 * testDay})
	k.stack(namespace, "vpc", nil)
	version := func(ago time.Duration) string { return fmt.Sprintf("%020d-1", time.Now().Add(-ago).UnixNano()) }
	keys := map[string]bool{}
	for name, c := range map[string]struct {
		ago  time.Duration
		want bool
	}{"tfstate-default-vpc": {100 * testDay, true}, "tfstate-default-old": {100 * testDay, false}, "tfstate-default-recent": {10 * testDay, true}} {
		key := "states/" + namespace + "/" + name + "/" + version(c.ago)
		k.put(key, c.ago)
		keys[key] = c.want
	}
	// What has not changed for long is not old when its stack goes: that it is gone has to be.
	k.day()
	for key := range keys {
		if there, err := k.blobs.Exists(t.Context(), key); err != nil || !there {
			t.Errorf("on the first day %s is there: %v, %v", key, there, err)
		}
	}
	for _, name := range []string{"old", "recent"} {
		k.aged("states/"+namespace+"/tfstate-default-"+name+"/gone", 91*testDay)
	}
	k.day()
	for key, want := range keys {
		if there, err := k.blobs.Exists(t.Context(), key); err != nil || there != want {
			t.Errorf("%s is there: %v, %v", key, there, err)
		}
	}
}

// stubborn does not let one stack's runs go.
type stubborn struct {
	runPruner
	name string
}

func (s stubborn) Prune(ctx context.Context, r records.PruneRequest) (records.Pruned, error) {
	if r.Stack.Name == s.name {
		return records.Pruned{}, errors.New("not these")
	}
	return s.runPruner.Prune(ctx, r)
}

func TestWhatIsWrongWithOneStackKeepsNoOtherFromItsTurn(t *testing.T) {
	namespace := apitest.Namespace(t)
	k := newKeeping(t, Retention{Runs: 1})
	k.runs = stubborn{k.exec, "bad"}
	stacks := map[string]run.Stack{}
	for _, name := range []string{"bad", "a", "b", "c", "d", "e"} {
		stack := k.stack(namespace, name, nil)
		stacks[name] = stack
		k.leave(stack, "r1", 2*testDay)
		k.leave(stack, "r2", 2*testDay)
	}
	k.day()
	for name, stack := range stacks {
		want := 1
		if name == "bad" {
			want = 2
		}
		if left := k.there(stack); len(left) != want {
			t.Errorf("runs of %s: %v are left, want %d", name, left, want)
		}
	}
}

func TestLooksThatFindTheSameAgainAndAgainGo(t *testing.T) {
	namespace := apitest.Namespace(t)
	k := newKeeping(t, DefaultRetention())
	stack := k.stack(namespace, "waits", func(s *infrav1.TerraformStatus) { s.Plan.RunID = "r11" })
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	for i := range 12 {
		k.observe(k.leave(stack, fmt.Sprintf("r%02d", i), 30*time.Minute))
	}
	go func() { done <- k.run(ctx, nil) }()
	want := []string{"r00", "r11"}
	deadline := time.Now().Add(time.Minute)
	for got := k.there(stack); !slices.Equal(got, want); got = k.there(stack) {
		if time.Now().After(deadline) {
			t.Fatalf("there are %v", got)
		}
		time.Sleep(10 * time.Millisecond)
	}
	// Those that came after the turn was asked for go with the next one.
	for i := 12; i < 22; i++ {
		k.observe(k.leave(stack, fmt.Sprintf("r%02d", i), 30*time.Minute))
	}
	for got := k.there(stack); len(got) > 8; got = k.there(stack) {
		if time.Now().After(deadline) {
			t.Fatalf("there are %v", got)
		}
		time.Sleep(10 * time.Millisecond)
	}
	cancel()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got := k.there(stack); got[0] != "r00" || !slices.Contains(got, "r11") || got[len(got)-1] != "r21" {
		t.Errorf("of the looks there are %v", got)
	}
}

func TestAChangeOfMindEndsARowOfLooks(t *testing.T) {
	r := &ran{}
	for i, changes := range strings.Split("a a a b b a", " ") {
		r.saw(run.Record{Spec: run.Spec{ID: fmt.Sprint(i)}, Result: &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, ChangesDigest: changes}}})
	}
	if diff := cmp.Diff([]string{"1"}, r.repeated); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	r = &ran{}
	for i := range 5 {
		rec := run.Record{Spec: run.Spec{ID: fmt.Sprint(i)}, By: "somebody", Result: &run.Result{Outcome: run.OutcomeSucceeded, Plan: &run.PlanResult{Changes: true, ChangesDigest: "a"}}}
		r.saw(rec)
	}
	if r.repeated != nil {
		t.Errorf("what people asked for goes: %v", r.repeated)
	}
}

// BenchmarkADay measures what a day's looking takes of stacks with a hundred runs each.
func BenchmarkADay(b *testing.B) {
	dir := b.TempDir()
	key, err := blob.LoadOrCreateKey(filepath.Join(b.TempDir(), "key"))
	if err != nil {
		b.Fatal(err)
	}
	const stacks = 30
	for s := range stacks {
		for r := range 100 {
			for _, part := range []string{run.BlobRecord, run.BlobLog, run.BlobPlanJSON, run.BlobPlanText} {
				path := filepath.Join(dir, run.Stack{Namespace: "n", Name: fmt.Sprint("s", s), UID: "u"}.Key(fmt.Sprintf("r%03d", r), part))
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					b.Fatal(err)
				}
				if err := os.WriteFile(path, []byte("x"), fs.FileMode(0o600)); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
	blobs, err := blob.Open(b.Context(), "file://"+dir, key)
	if err != nil {
		b.Fatal(err)
	}
	exec, err := executor.New(executor.Options{Blobs: blobs, LiveDir: b.TempDir(), ShellDir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	c := apitest.Client(b)
	k := newKeeper(&keeper{keep: DefaultRetention(), runs: exec, states: state.New(c, blobs), names: blobs, stacks: c, now: time.Now, log: slog.New(slog.DiscardHandler)})
	for b.Loop() {
		for slot := range slots {
			if err := k.turn(b.Context(), slot); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N)/stacks, "µs/stack")
}

// TestRunsThatReadStartNoCheck: a console of many lines would have the stack's data checked all the time.
func TestRunsThatReadStartNoCheck(t *testing.T) {
	k := newKeeper(&keeper{})
	ended := func(change *run.StateChange) {
		for range everyRuns {
			k.observe(run.Record{Spec: run.Spec{Stack: run.Stack{Name: "s"}, StateChange: change}, Result: &run.Result{Outcome: run.OutcomeSucceeded}})
		}
	}
	ended(&run.StateChange{Verb: run.StateConsole})
	if len(k.due) > 0 {
		t.Error("runs that read start a check")
	}
	ended(&run.StateChange{Verb: run.StateRemove})
	if len(k.due) != 1 {
		t.Errorf("other runs start %d checks", len(k.due))
	}
}
