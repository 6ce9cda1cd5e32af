// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/tools"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// tenThings is the stack of the blueprint's measurements.
const tenThings = `
resource "terraform_data" "x" {
  count = 10
  input = "value ${count.index}"
}
output "o" { value = terraform_data.x[*].id }
`

// byHand runs plain tofu in its own directory.
type byHand struct {
	b    *testing.B
	tofu string
	dir  string
}

func (h byHand) run(args ...string) {
	h.b.Helper()
	cmd := exec.Command(h.tofu, args...)
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + tools.SystemPath, "HOME=" + h.dir, "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + os.DevNull}
	if out, err := cmd.CombinedOutput(); err != nil {
		h.b.Fatalf("%v: %s", err, out)
	}
}

func newByHand(b *testing.B, tofu string) byHand {
	h := byHand{b: b, tofu: tofu, dir: b.TempDir()}
	if err := os.WriteFile(filepath.Join(h.dir, "main.tf"), []byte(tenThings), 0o600); err != nil {
		b.Fatal(err)
	}
	return h
}

// cost is wall and CPU time, including finished children.
type cost struct{ wall, cpu time.Duration }

// of adds the cost of f.
func (c *cost) of(f func()) {
	started, before := time.Now(), cpuTime()
	f()
	c.wall += time.Since(started)
	c.cpu += cpuTime() - before
}

func cpuTime() time.Duration {
	var total time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var usage syscall.Rusage
		if err := syscall.Getrusage(who, &usage); err == nil {
			total += time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
		}
	}
	return total
}

// report prints both and their ratios. On a busy machine only the ratio of CPU times is meaningful.
func report(b *testing.B, runs, plain cost) {
	perOp := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) / 1000 }
	b.ReportMetric(perOp(runs.wall), "ms/run")
	b.ReportMetric(perOp(plain.wall), "ms/by-hand")
	b.ReportMetric(float64(runs.wall)/float64(plain.wall), "wall-ratio")
	b.ReportMetric(float64(runs.cpu)/float64(plain.cpu), "cpu-ratio")
}

// BenchmarkWarmPlan compares a run without changes with `tofu plan` of the same stack, in turns.
func BenchmarkWarmPlan(b *testing.B) {
	rig := newBench(b).start()
	first := rig.stack("warm", run.OperationPlanAndApply, program(tenThings))
	rig.succeed(first)
	hand := newByHand(b, rig.opts.Tofu)
	hand.run("init")
	hand.run("apply", "-auto-approve")
	var runs, plain cost
	for b.Loop() {
		next := first.again(run.OperationPlanAndApply)
		runs.of(func() { rig.succeed(next) })
		plain.of(func() { hand.run("plan") })
	}
	report(b, runs, plain)
}

// BenchmarkFirstApply compares the first apply of a new stack with plain tofu init, plan and apply.
func BenchmarkFirstApply(b *testing.B) {
	rig := newBench(b).start()
	var runs, plain cost
	for i := 0; b.Loop(); i++ {
		next := rig.stack(fmt.Sprintf("first%d", i), run.OperationPlanAndApply, program(tenThings))
		next.spec.Direct = true // as the server does
		runs.of(func() { rig.succeed(next) })
		hand := newByHand(b, rig.opts.Tofu)
		plain.of(func() {
			hand.run("init")
			hand.run("plan", "-out=p")
			hand.run("apply", "p")
		})
	}
	report(b, runs, plain)
}

// BenchmarkSandbox measures the CPU time that confinement adds to a process.
func BenchmarkSandbox(b *testing.B) {
	rig := newBench(b)
	rig.opts.Log = slog.New(slog.DiscardHandler)
	r := newRunner(rig.opts)
	if err := errors.Join(os.MkdirAll(rig.opts.WorkRoot, 0o700), r.buildWalls(b.Context())); err != nil {
		b.Fatal(err)
	}
	space := &workspace.Workspace{Base: rig.data, Dir: filepath.Join(rig.data, workspace.SourceDir), Temp: b.TempDir(), Tool: tools.Tool{Path: rig.opts.Tofu}}
	for _, name := range []string{workspace.SourceDir, workspace.HomeDir, workspace.PlanDir} {
		if err := os.Mkdir(filepath.Join(rig.data, name), 0o700); err != nil {
			b.Fatal(err)
		}
	}
	if r.Walls.Users {
		space.Record.User, _ = r.Users.Next()
	}
	j := r.newJob("x", "")
	j.site.Space = space
	cell := j.program.Cell()
	var with, without cost
	for b.Loop() {
		with.of(func() {
			if out, err := r.Walls.Command(b.Context(), cell, "/bin/true").CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		})
		without.of(func() {
			if err := exec.Command("/bin/true").Run(); err != nil {
				b.Fatal(err)
			}
		})
	}
	perOp := func(d time.Duration) float64 { return float64(d.Microseconds()) / float64(b.N) / 1000 }
	b.ReportMetric(perOp(with.cpu-without.cpu), "ms-CPU/added")
	b.ReportMetric(perOp(with.wall-without.wall), "ms/added")
}
