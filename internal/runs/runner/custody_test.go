// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// The two programs of a stack whose author shows one and wants to apply the other.
const (
	honest = `resource "terraform_data" "a" { input = "honest" }`
	evil   = `resource "terraform_data" "a" { input = "evil" }`
)

// evilPlan makes a plan that fits the stack but differs from the honest one.
func (b *bench) evilPlan(name string) []byte {
	b.t.Helper()
	r := b.stack(name, run.OperationPlan, program(evil))
	b.succeed(r)
	if len(r.savedPlan) == 0 {
		b.t.Fatal("no plan was saved")
	}
	return r.savedPlan
}

// swapper is a leftover process of a plan that replaces every plan it can write to.
func (b *bench) swapper(stack string, plan []byte, names ...string) (swaps func() int, stop func()) {
	b.t.Helper()
	base := filepath.Join(b.opts.WorkRoot, "team", stack)
	end, ended, count := make(chan struct{}), make(chan struct{}), 0
	go func() {
		defer close(ended)
		for {
			for _, name := range names {
				file, err := os.OpenFile(filepath.Join(base, name), os.O_WRONLY, 0)
				if err != nil {
					continue
				}
				if info, err := file.Stat(); err == nil && info.Size() > 0 {
					file.Truncate(0)
					file.Write(plan)
					count++
				}
				file.Close()
			}
			select {
			case <-end:
				return
			default:
			}
		}
	}()
	return func() int { <-ended; return count }, func() { close(end) }
}

func TestThePlanThatWasReviewedIsApplied(t *testing.T) {
	b := newBench(t).start()
	other := b.evilPlan("judged")
	r := b.stack("judged", run.OperationPlanAndApply, program(honest))
	r.spec.Describe, r.spec.Review, r.spec.PlanDocument = true, true, true
	r.reviewing, r.review = true, run.ContinueResponse{Go: true}
	b.server.submit(r)
	b.server.wait(r, "the question for the review", func() bool { return len(r.asked) > 0 })
	written := filepath.Join(b.opts.WorkRoot, "team", "judged", workspace.PlanDir, workspace.PlanName)
	if err := os.WriteFile(written, other, 0o600); err != nil {
		t.Fatal(err)
	}
	b.server.mu.Lock()
	r.reviewing = false
	b.server.mu.Unlock()
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
		t.Errorf("%+v", result)
	}
	if shown, done := string(r.planShow), string(r.lastState()); !strings.Contains(shown, "honest") || strings.Contains(done, "evil") || !strings.Contains(done, "honest") {
		t.Errorf("shown was %.300s\napplied was %s", shown, done)
	}
}

// Whatever a process does to the plan, the runner shows, keeps and names by digest the same one.
func TestWhatIsShownIsWhatIsKept(t *testing.T) {
	b := newBench(t).start()
	other := b.evilPlan("shown")
	for read := 0; read < 2; {
		r := b.stack("shown", run.OperationPlan, program(honest))
		r.spec.Describe, r.spec.PlanDocument, r.spec.PlanText = true, true, true
		swaps, stop := b.swapper("shown", other, workspace.PlanDir+"/"+workspace.PlanName)
		planned := b.do(r)
		stop()
		if planned.Outcome != run.OutcomeSucceeded { // it was read while it was written
			if swaps() == 0 {
				t.Fatalf("%+v", planned)
			}
			continue
		}
		read++
		if got := spool.Digest(r.savedPlan); got != planned.Plan.Digest {
			t.Errorf("kept is %s, named %s", got, planned.Plan.Digest)
		}
		for part, digest := range r.plans {
			if digest != planned.Plan.Digest {
				t.Errorf("%s is of %s, named is %s", part, digest, planned.Plan.Digest)
			}
		}
		apply := r.again(run.OperationApply)
		apply.plan, apply.spec.Plan = r.savedPlan, &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
		b.succeed(apply)
		is := "evil"
		if strings.Contains(string(apply.lastState()), "honest") {
			is = "honest"
		}
		for what, text := range map[string][]byte{"document": r.planShow, "text": r.planText, "plan": r.planJSON} {
			if !strings.Contains(string(text), is) {
				t.Errorf("after %d swaps the %s shows something else than %s, which was applied:\n%s", swaps(), what, is, text)
			}
		}
	}
}

// An unconfined program can write to the runner's copy, too. The runner detects it.
func TestAPlanThatWasChangedInCustodyIsSeen(t *testing.T) {
	b := newBench(t).start()
	other := b.evilPlan("custody")
	first := b.stack("custody", run.OperationPlan, program(honest))
	planned := b.succeed(first)
	second := first.again(run.OperationApply)
	second.plan, second.spec.Plan = first.savedPlan, &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
	swaps, stop := b.swapper("custody", other, workspace.GivenPlan)
	result := b.do(second)
	stop()
	if swaps() == 0 {
		t.Fatal("nothing was swapped")
	}
	refused := result.Outcome == run.OutcomeFailed && result.Class == run.FailureStalePlan && !result.ApplyStarted
	if said := strings.Join(result.Warnings, "\n"); !refused && !strings.Contains(said, "may differ from the approved one") {
		t.Errorf("%+v", result)
	}
}

// daemon is a program whose apply leaves a process that replaces each plan it finds, and instructs
// later programs. It lives for at most a minute.
const daemon = `
resource "terraform_data" "daemon" {
  provisioner "local-exec" {
    command = <<-EOT
      cat > daemon.sh <<'END'
      end=$(($(date +%%s) + 60))
      while [ $(date +%%s) -lt $end ] && [ ! -e %[1]s/end ]; do
        [ -e %[1]s/evil.plan ] || continue
        for f in %[2]s/plan/tfplan %[2]s/given/tfplan; do [ -s $f ] && cat %[1]s/evil.plan > $f && echo $f >> %[1]s/swapped; done
        echo '[url]' > %[2]s/home/.gitconfig
      done
      END
      setsid sh daemon.sh >/dev/null 2>&1 </dev/null &
    EOT
  }
}
`

// Whatever a leftover process does, only the shown and approved plan is applied. Without
// confinement the run may fail instead.
func TestADaemonThatARunLeftSwapsNoPlan(t *testing.T) {
	for name, confined := range map[string]bool{"as programs are confined here": true, "where nothing confines": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if !confined {
				b.unconfined()
			}
			b.start()
			loot := t.TempDir()
			text := func(input string) map[string]string {
				return program(fmt.Sprintf(daemon, loot, filepath.Join(b.opts.WorkRoot, "team", "watched")) +
					"resource \"terraform_data\" \"a\" { input = \"" + input + "\" }\noutput \"git\" { value = fileexists(pathexpand(\"~/.gitconfig\")) }\n")
			}
			first := b.stack("watched", run.OperationPlanAndApply, text("first"))
			b.succeed(first)
			t.Cleanup(func() { b.put(filepath.Join(loot, "end"), nil) })
			other := b.stack("watched", run.OperationPlan, text("evil"))
			other.state = first.lastState()
			b.succeed(other)
			b.put(filepath.Join(loot, "evil.plan"), other.savedPlan)

			second := b.stack("watched", run.OperationPlan, text("honest"))
			second.state = first.lastState()
			second.spec.Describe, second.spec.PlanDocument = true, true
			planned := b.do(second)
			if planned.Outcome != run.OutcomeSucceeded {
				// tofu may have read a half-written plan.
				if confined || planned.Class != run.FailureStalePlan && planned.Class != run.FailureTool {
					t.Errorf("%+v", planned)
				}
				return
			}
			is := "evil"
			if strings.Contains(string(second.planShow), "honest") {
				is = "honest"
			}
			apply := second.again(run.OperationApply)
			apply.state = first.lastState()
			apply.plan, apply.spec.Plan = second.savedPlan, &run.PlanRef{ID: "plan-1", Digest: planned.Plan.Digest}
			result := b.do(apply)
			if done := string(apply.lastState()); len(apply.states) > 0 && !strings.Contains(done, is) && !strings.Contains(strings.Join(result.Warnings, "\n"), "may differ from the approved one") {
				t.Errorf("shown was %s, applied was\n%s\n%+v", is, done, result)
			}
			_, err := os.Stat(filepath.Join(loot, "swapped"))
			if confined && (is != "honest" || result.Outcome != run.OutcomeSucceeded || err == nil) {
				t.Errorf("shown was %s, %v, %+v", is, err, result)
			}
			if !confined && err != nil {
				t.Errorf("the daemon did nothing: %v", err)
			}
		})
	}
}

// After an interrupted apply the runner reads the plan again: its own copy, not tofu's, which the
// program can change.
func TestAPlanThatIsSwappedDuringTheApplyNamesNothing(t *testing.T) {
	b := newBench(t).start()
	other := b.stack("other", run.OperationPlan, program(`resource "terraform_data" "other" {}`))
	b.succeed(other)
	r := b.stack("swapped", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {}
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "mkfifo gate && cat gate" }
}`))
	b.server.submit(r)
	b.atGate("swapped", "gate")
	b.overwrite(filepath.Join(b.opts.WorkRoot, "team", "swapped", workspace.PlanDir, workspace.PlanName), func([]byte) []byte { return other.savedPlan })
	killGroup(b.journal(r).Process.PID)
	result := b.server.finished(r)
	named := map[string]bool{}
	for _, f := range result.Plan.Fates {
		named[f.Address] = true
	}
	if diff := cmp.Diff(map[string]bool{"terraform_data.a": true, "terraform_data.b": true}, named); diff != "" || result.Plan.FatesTotal != 2 {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
