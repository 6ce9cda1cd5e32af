// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/test/cloud"
)

// unsettled lists what has not reached the expected state yet.
func (f *fleet) unsettled(ctx context.Context) ([]string, error) {
	var list infrav1.TerraformList
	if err := f.client.List(ctx, &list, client.InNamespace(f.y.namespace)); err != nil {
		return nil, err
	}
	wanted := map[string]bool{}
	for _, s := range f.stacks {
		wanted[s.name] = true
	}
	var open []string
	for _, obj := range list.Items {
		ready := apimeta.FindStatusCondition(obj.Status.Conditions, infrav1.ConditionReady)
		switch {
		case !wanted[obj.Name]:
			open = append(open, obj.Name+" is to go")
		case ready == nil:
			open = append(open, obj.Name+" says nothing of itself")
		case obj.Status.ObservedGeneration != obj.Generation || obj.Status.CurrentRun != nil || ready.Status != metav1.ConditionTrue:
			open = append(open, fmt.Sprintf("%s: generation %d of %d, %s: %s", obj.Name, obj.Status.ObservedGeneration, obj.Generation, ready.Reason, ready.Message))
		}
		delete(wanted, obj.Name)
	}
	for name := range wanted {
		open = append(open, name+" is not there")
	}
	if diff := cmp.Diff(f.wants(), f.has()); diff != "" {
		open = append(open, "the cloud is not as wanted (-want +got):\n"+diff)
	}
	runs, err := entries(filepath.Join(f.y.dir, "runner", "runs"))
	for _, name := range runs {
		open = append(open, "run "+name+" is in the spool")
	}
	for _, p := range f.y.processes() {
		if p.PID != f.y.serverPID() && p.Program != "yuba-runner" {
			open = append(open, "process "+p.String()+" is there")
		}
	}
	return open, err
}

// settle waits until everything is in the expected state, and returns how long that took.
func (f *fleet) settle(t *testing.T) time.Duration {
	t.Helper()
	began := time.Now()
	f.y.awaitReady()
	ctx, cancel := context.WithTimeout(t.Context(), *settleFlag)
	defer cancel()
	for {
		open, err := f.unsettled(ctx)
		if err == nil && len(open) == 0 {
			return time.Since(began)
		}
		select {
		case <-ctx.Done():
			t.Fatalf("after %s not everything has settled (%v):\n%s", *settleFlag, err, strings.Join(open, "\n"))
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// ledger contains the runs that a storm left.
type ledger struct {
	// runs are the records of each existing stack, oldest first.
	runs map[string][]run.Record
	// outcomes counts the runs by outcome.
	outcomes map[run.Outcome]int
	applied  int
	// interrupted counts the interrupted runs that may have changed something.
	interrupted int
	states      int
	// why counts the errors of runs that did not succeed.
	why map[string]int
}

func (l ledger) String() string {
	text := fmt.Sprintf("runs by outcome %v, %d of them applied something, %d were interrupted in that, %d versions of states", l.outcomes, l.applied, l.interrupted, l.states)
	for _, why := range slices.Sorted(maps.Keys(l.why)) {
		text += fmt.Sprintf("\n%5d %s", l.why[why], why)
	}
	return text
}

// take adds a run.
func (l *ledger) take(r run.Record) {
	l.outcomes[r.Result.Outcome]++
	if r.Result.Applied {
		l.applied++
	}
	if interruptedInApply(r) {
		l.interrupted++
	}
	if r.Result.Outcome != run.OutcomeSucceeded {
		why := strings.ReplaceAll(r.Result.Error, r.Spec.ID, "ID")
		l.why[fmt.Sprintf("%s in %s: %.300q", r.Result.Outcome, r.Result.FailedStep, why)]++
	}
}

// interruptedInApply reports whether a run was interrupted when it may have changed something.
func interruptedInApply(r run.Record) bool {
	return r.Result != nil && r.Result.Outcome == run.OutcomeInterrupted && r.Result.ApplyStarted
}

// endsInterrupted reports whether nothing was applied after an interrupted apply. The records are
// in the order of the runs.
func endsInterrupted(records []run.Record) bool {
	interrupted := false
	for _, r := range records {
		switch {
		case interruptedInApply(r):
			interrupted = true
		case r.Result != nil && r.Result.Applied:
			interrupted = false
		}
	}
	return interrupted
}

// audit checks everything that must hold after any kill, and returns the recorded runs.
func (f *fleet) audit(t *testing.T) ledger {
	t.Helper()
	l := f.auditRecords(t)
	f.auditFiles(t)
	return l
}

// auditRecords checks states, runs and locks.
func (f *fleet) auditRecords(t *testing.T) ledger {
	t.Helper()
	c, err := content.NewClient(f.y.config())
	if err != nil {
		t.Fatal(err)
	}
	l := ledger{runs: map[string][]run.Record{}, outcomes: map[run.Outcome]int{}, why: map[string]int{}}
	for _, s := range f.stacks {
		records, err := c.Runs(t.Context(), f.y.namespace, s.name, 500)
		if err != nil {
			t.Fatal(err)
		}
		slices.Reverse(records.Items)
		l.states += f.auditState(t, c, s, endsInterrupted(records.Items))
		l.runs[s.name] = records.Items
		for _, r := range records.Items {
			if r.Result == nil {
				t.Errorf("run %s of %s has no end", r.Spec.ID, s.name)
				continue
			}
			l.take(r)
		}
		auditFreshPlans(t, s, records.Items)
	}
	f.auditLocks(t)
	return l
}

// auditState checks the state of a stack and its versions, and returns the number of versions. The
// apply that was interrupted last may have changed an object without a record in the state.
func (f *fleet) auditState(t *testing.T, c *content.Client, s *stack, interrupted bool) int {
	t.Helper()
	if s.own {
		if f.cloud.StateLocked(s.name) {
			t.Errorf("the state of %s is locked in its backend", s.name)
		}
		auditObjects(t, s, f.cloud.State(s.name), interrupted)
		return 0
	}
	data, err := c.State(t.Context(), f.y.namespace, s.name, "")
	if err != nil {
		t.Errorf("the state of %s: %v", s.name, err)
		return 0
	}
	serial, lineage := auditObjects(t, s, data, interrupted)
	versions, err := c.Versions(t.Context(), f.y.namespace, s.name)
	if err != nil {
		t.Errorf("the versions of the state of %s: %v", s.name, err)
		return 0
	}
	newest := versions.Items[0]
	if newest.Serial != serial {
		t.Errorf("the newest version of the state of %s has serial %d, the state %d", s.name, newest.Serial, serial)
	}
	for _, v := range versions.Items {
		if v.Lineage != lineage {
			t.Errorf("version %s of the state of %s has lineage %s, the state %s", v.ID, s.name, v.Lineage, lineage)
		}
		if v.Serial > serial {
			t.Errorf("version %s of the state of %s has a serial over that of a newer one, %d", v.ID, s.name, serial)
		}
		serial = v.Serial
	}
	return len(versions.Items)
}

// auditObjects checks that a state lists the stack's objects with their contents. After an
// interrupted apply, it may have an earlier content: the next plan finds no difference, and tofu
// writes no state if nothing changes.
func auditObjects(t *testing.T, s *stack, data []byte, interrupted bool) (serial uint64, lineage string) {
	t.Helper()
	var file struct {
		Serial    uint64
		Lineage   string
		Resources []struct {
			Instances []struct {
				Attributes struct{ Name, Content string }
			}
		}
	}
	if err := json.Unmarshal(data, &file); err != nil {
		t.Errorf("read the state of %s: %v", s.name, err)
		return 0, ""
	}
	have := map[string]string{}
	for _, r := range file.Resources {
		for _, i := range r.Instances {
			have[i.Attributes.Name] = i.Attributes.Content
		}
	}
	want := s.wants()
	if interrupted {
		for name := range have {
			if content, wanted := want[name]; wanted && content != have[name] && s.asked[name][have[name]] {
				t.Logf("the state of %s has an older content of %s", s.name, name)
				have[name] = content
			}
		}
	}
	if diff := cmp.Diff(want, have); diff != "" {
		t.Errorf("the state of %s is not what was asked for (-want +got):\n%s", s.name, diff)
	}
	return file.Serial, file.Lineage
}

// auditFreshPlans checks that after an interrupted apply, only newer plans are applied. The records
// are in the order of the runs.
func auditFreshPlans(t *testing.T, s *stack, records []run.Record) {
	t.Helper()
	byID := map[string]run.Record{}
	var interrupted *run.Record
	for i, r := range records {
		byID[r.Spec.ID] = r
		if r.Result == nil {
			continue
		}
		if interrupted != nil && r.Result.ApplyStarted && r.Spec.Plan != nil {
			plan, known := byID[r.Spec.Plan.RunID]
			if !known || plan.Created.Before(interrupted.Result.Finished) {
				t.Errorf("run %s of %s applied a plan from before run %s was interrupted", r.Spec.ID, s.name, interrupted.Spec.ID)
			}
		}
		if interruptedInApply(r) {
			interrupted = &records[i]
		}
	}
}

// auditLocks checks that no lock is held.
func (f *fleet) auditLocks(t *testing.T) {
	t.Helper()
	var leases coordinationv1.LeaseList
	if err := f.client.List(t.Context(), &leases, client.InNamespace(f.y.namespace)); err != nil {
		t.Fatal(err)
	}
	for _, lease := range leases.Items {
		if h := lease.Spec.HolderIdentity; h != nil && *h != "" {
			t.Errorf("%s is held by %s", lease.Name, *h)
		}
	}
	for _, name := range f.gone {
		if f.cloud.StateLocked(name) {
			t.Errorf("the state of %s, which is gone, is locked in its backend", name)
		}
	}
}

// secretFiles must not be in a working directory while no run is active.
var secretFiles = []string{"terraform.tfstate", "terraform.tfstate.backup", "errored.tfstate", "generated.auto.tfvars.json", ".terraform.tfstate.lock.info"}

// auditFiles checks the files that the processes left.
func (f *fleet) auditFiles(t *testing.T) {
	t.Helper()
	orphans, err := entries(filepath.Join(f.y.dir, "runner", "orphans"))
	if err != nil || len(orphans) > 0 {
		t.Errorf("states that no server took, or that were left in working directories: %v (%v)", orphans, err)
	}
	for _, name := range secretFiles {
		left, err := filepath.Glob(filepath.Join(f.y.dir, "work", f.y.namespace, "*", "src", name))
		if err != nil || len(left) > 0 {
			t.Errorf("left in working directories: %v (%v)", left, err)
		}
	}
	for _, name := range []string{filepath.Join(f.y.base, "server.log"), filepath.Join(f.y.dir, "runner", "runner.log")} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, word := range []string{"panic:", "ended in a panic", "This is a bug in Yuba"} {
			for line := range strings.Lines(string(text)) {
				if strings.Contains(line, word) {
					t.Errorf("%s: %s", name, line)
				}
			}
		}
	}
}

// count summarises a journal.
func count(journal []cloud.Change) string {
	var created, updated, deleted int
	for _, c := range journal {
		switch {
		case c.Method == http.MethodDelete:
			deleted++
		case c.Create:
			created++
		default:
			updated++
		}
	}
	return fmt.Sprintf("%d objects created, %d updated, %d deleted", created, updated, deleted)
}
