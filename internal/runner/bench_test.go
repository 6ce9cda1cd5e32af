// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/run"
)

// tenThings is the stack of the blueprint's measurements.
const tenThings = `
resource "terraform_data" "x" {
  count = 10
  input = "value ${count.index}"
}
output "o" { value = terraform_data.x[*].id }
`

// byHand runs tofu as a person would, in a directory of its own.
type byHand struct {
	b    *testing.B
	tofu string
	dir  string
}

func (h byHand) run(args ...string) {
	h.b.Helper()
	cmd := exec.Command(h.tofu, args...)
	cmd.Dir = h.dir
	cmd.Env = []string{"PATH=" + systemPath, "HOME=" + h.dir, "CHECKPOINT_DISABLE=1", "TF_CLI_CONFIG_FILE=" + os.DevNull}
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

// BenchmarkWarmPlan compares a pass that finds nothing with `tofu plan` of the same stack, taken in turns.
func BenchmarkWarmPlan(b *testing.B) {
	rig := newBench(b).start()
	first := rig.stack("warm", run.OperationPlanAndApply, program(tenThings))
	rig.succeed(first)
	hand := newByHand(b, rig.opts.Tofu)
	hand.run("init")
	hand.run("apply", "-auto-approve")
	var passes, plain time.Duration
	for b.Loop() {
		next := first.again(run.OperationPlanAndApply)
		started := time.Now()
		rig.succeed(next)
		passes += time.Since(started)
		started = time.Now()
		hand.run("plan")
		plain += time.Since(started)
	}
	b.ReportMetric(float64(passes.Microseconds())/float64(b.N)/1000, "ms/pass")
	b.ReportMetric(float64(plain.Microseconds())/float64(b.N)/1000, "ms/tofu-plan")
	b.ReportMetric(float64(passes)/float64(plain), "ratio")
}

// BenchmarkFirstApply compares the first apply of a new stack with init, plan and apply by hand.
func BenchmarkFirstApply(b *testing.B) {
	rig := newBench(b).start()
	var runs, plain time.Duration
	for i := 0; b.Loop(); i++ {
		next := rig.stack("first"+strings.Repeat("x", i%50)+time.Now().Format("150405.000000"), run.OperationPlanAndApply, program(tenThings))
		started := time.Now()
		rig.succeed(next)
		runs += time.Since(started)
		hand := newByHand(b, rig.opts.Tofu)
		started = time.Now()
		hand.run("init")
		hand.run("plan", "-out=p")
		hand.run("apply", "p")
		plain += time.Since(started)
	}
	b.ReportMetric(float64(runs.Microseconds())/float64(b.N)/1000, "ms/run")
	b.ReportMetric(float64(plain.Microseconds())/float64(b.N)/1000, "ms/by-hand")
	b.ReportMetric(float64(runs)/float64(plain), "ratio")
}

// BenchmarkSandbox measures the CPU time that confinement adds to a process.
func BenchmarkSandbox(b *testing.B) {
	rig := newBench(b)
	space := &workspace{base: rig.data, temp: b.TempDir(), tool: tool{path: rig.opts.Tofu}}
	j := &job{runner: &runner{opts: rig.opts}}
	confined := append(space.sandboxArgs(j), "--", "/bin/true")
	cpu := func(path string, args ...string) time.Duration {
		cmd := exec.Command(path, args...)
		cmd.Env = []string{}
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		return cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
	}
	var with, without time.Duration
	for b.Loop() {
		with += cpu(rig.opts.Sandbox, confined...)
		without += cpu("/bin/true")
	}
	b.ReportMetric(float64((with-without).Microseconds())/float64(b.N)/1000, "ms-CPU/added")
}
