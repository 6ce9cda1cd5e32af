// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// greedy programs take as much as they get, in children that tofu waits for.
var greedy = map[string]struct {
	command string
	limit   func(*run.Limits)
	says    string
}{
	"memory": {
		// 100 MB a second of one endless line, in a background process.
		`(while :; do head -c 20000000 /dev/zero; sleep 0.2; done | tail) >/dev/null 2>&1 & sleep 60`,
		func(l *run.Limits) { l.Run.MemoryBytes = 300 << 20 }, "(--run-memory)",
	},
	"processes": {
		// The kernel refuses the last ones, and the shell exits.
		`(for i in $(seq 300); do sleep 60 & done) >/dev/null 2>&1; exec sleep 60`,
		func(l *run.Limits) { l.Run.Processes = 150 }, "(--run-processes)",
	},
	"disk": {
		`i=0; while :; do i=$((i+1)); head -c 1000000 /dev/urandom > fill-$i || exit 1; done`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
	"one large file": {
		`head -c 300000000 /dev/zero > fill`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
	"files": {
		`mkdir -p many; cd many; for i in $(seq 100); do mkdir d$i; touch d$i/f$(seq -s ' '"d$i/f" 100); done; exec sleep 60`,
		func(l *run.Limits) { l.Run.Files = 5000 }, "(--run-files)",
	},
	"deep directories": {
		`for i in $(seq 200); do mkdir d; cd d; done; exec sleep 60`,
		func(*run.Limits) {}, "128 deep",
	},
	"files without names": {
		`for i in 3 4 5 6 7 8; do eval "exec $i>hole; rm hole; head -c 20000000 /dev/zero >&$i"; done; exec sleep 60`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
	"disk in a locked directory": {
		`mkdir locked && cd locked && chmod 0300 . && i=0; while :; do i=$((i+1)); head -c 1000000 /dev/urandom > fill-$i || exit 1; done`,
		func(l *run.Limits) { l.Run.DiskBytes = 64 << 20 }, "(--run-disk)",
	},
}

// The runner ends a run that exceeds a limit, with its own class and reason. tofu's state is kept,
// the written files are removed, and the next run finds none of them.
func TestGreedyProgramsAreEnded(t *testing.T) {
	for name, c := range greedy {
		t.Run(name, func(t *testing.T) {
			b := newBench(t).start()
			r := b.stack("greedy", run.OperationPlanAndApply, program(fmt.Sprintf(`
resource "terraform_data" "kept" {}
resource "terraform_data" "greedy" {
  depends_on = [terraform_data.kept]
  provisioner "local-exec" { command = %q }
}`, c.command)))
			c.limit(&r.spec.Limits)
			start := time.Now()
			result := b.do(r)
			if result.Class != run.FailureLimit || !strings.Contains(result.Error, c.says) || !result.ApplyStarted {
				t.Errorf("%s %s: %s", result.Outcome, result.Class, result.Error)
			}
			if took := time.Since(start); took > 55*time.Second {
				t.Errorf("it took %s", took)
			}
			if !strings.Contains(string(r.lastState()), `"kept"`) {
				t.Errorf("the state is lost: %q; the run ended with %s\n%s", r.lastState(), result.Error, r.log)
			}
			left, err := filepath.Glob(filepath.Join(b.opts.WorkRoot, "team", "greedy", workspace.SourceDir, "fill*"))
			if err != nil || len(left) > 0 {
				t.Errorf("left are %v, %v", left, err)
			}
			if _, err := os.Stat(filepath.Join(b.opts.WorkRoot, "team", "greedy", workspace.SourceDir, "locked")); err == nil {
				t.Error("the locked directory is left")
			}
		})
	}
}

// Runs of one namespace share a limit; other namespaces are not affected.
func TestNamespacesShareWhatTheyMayHave(t *testing.T) {
	b := newBench(t).start()
	taker := func(name, namespace string, sleepers int) *fakeRun {
		r := b.stack(name, run.OperationPlanAndApply, program(fmt.Sprintf(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "for i in $(seq %d); do sleep 600 & done >/dev/null 2>&1; cat %s" }
}`, sleepers, b.pipe(name))))
		r.spec.Stack.Namespace = namespace
		r.spec.Limits.Namespace.Processes = 200
		return b.server.submit(r)
	}
	small, large, other := taker("small", "team", 80), taker("large", "team", 150), taker("other", "elsewhere", 150)
	if result := b.server.finished(large); result.Class != run.FailureLimit || !strings.Contains(result.Error, "(--namespace-processes)") {
		t.Errorf("the largest: %s: %s", result.Class, result.Error)
	}
	for _, r := range []*fakeRun{small, other} {
		if err := os.WriteFile(filepath.Join(b.opts.ProviderMirror, r.spec.Stack.Name), nil, 0); err != nil { // blocks until there is a reader
			t.Fatal(err)
		}
		if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
			t.Errorf("%s: %s", r.spec.Stack, result.Error)
		}
	}
}
