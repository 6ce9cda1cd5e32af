// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/confinement"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/process"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// saving acts as tofu and a provider. Asked to stop, tofu waits until the provider has finished
// creating.
const saving = `trap 'wait; echo stored; exit 0' INT
(trap '' INT; sleep 2; echo created) &
echo begun; wait; wait`

// A run that is only a little over its limit finishes its operations in flight.
func TestWhatIsInFlightIsFinishedBeforeARunEnds(t *testing.T) {
	for name, c := range map[string]struct {
		size int
		want string
	}{
		"a little over": {66 << 20, "begun\ncreated\nstored\n"},
		"far over":      {90 << 20, "begun\nstored\n"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			r := b.runner()
			if !r.Walls.Alone() {
				t.Fatalf("this machine has no namespaces: %+v", r.Walls.Missing)
			}
			j := r.newJob(run.NewID(time.Now()), "")
			j.site.Space = &workspace.Workspace{Base: t.TempDir()}
			j.run.Spec.Limits = run.DefaultLimits()
			j.run.Spec.Limits.Run.DiskBytes = 64 << 20
			var out bytes.Buffer
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.Command("/bin/sh", "-c", saving)
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
			cmd.Stdout = write
			running, err := confinement.Start(cmd)
			if err != nil {
				t.Fatal(err)
			}
			write.Close()
			begun := make([]byte, len("begun\n"))
			if _, err := read.Read(begun); err != nil {
				t.Fatal(err)
			}
			out.Write(begun)
			if err := os.WriteFile(filepath.Join(j.site.Space.Base, "fill"), make([]byte, c.size), 0o600); err != nil {
				t.Fatal(err)
			}
			p := &process.Process{Step: run.StepApply, PID: cmd.Process.Pid, Cmd: cmd, Running: running, Limits: run.Limits{Grace: run.Duration(time.Minute)}, Note: func(string, ...any) {}}
			done := r.Meter.Watch(j.program.Measured(), p, j.site.MeasuredDirs())
			if _, err := out.ReadFrom(read); err != nil {
				t.Fatal(err)
			}
			e := p.Wait()
			done()
			if out.String() != c.want || e.Killed || !strings.Contains(e.Exceeded, "(--run-disk)") {
				t.Errorf("%q, killed %v, over %q", out.String(), e.Killed, e.Exceeded)
			}
		})
	}
}
