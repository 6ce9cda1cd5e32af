// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// small mounts a file system of a few MiB at each directory. Without the privileges for that, which
// CI has in containers, the test fails rather than skips.
func small(t *testing.T, size string, dirs ...string) {
	t.Helper()
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size="+size); err != nil {
			t.Fatalf("mount a small file system at %s (this test needs the right to mount): %v", dir, err)
		}
		t.Cleanup(func() {
			if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
				t.Errorf("unmount %s: %v", dir, err)
			}
		})
	}
}

// filling fills the disk completely during the apply, then creates one more resource.
const filling = `
resource "terraform_data" "a" { input = "precious" }
resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "cat /dev/zero > fill 2>/dev/null; true" }
}
resource "terraform_data" "c" {
  depends_on = [terraform_data.b]
  input      = [for i in range(1000) : "a rather long text that makes the state larger than what is left, number ${i}"]
}`

func TestFullDiskDuringAnApplyLosesNoState(t *testing.T) {
	for name, same := range map[string]bool{
		"the working directory's disk is full":                     false,
		"one disk for working directory and spool, and it is full": true,
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			b.opts.MinFree, b.opts.Reserve = 1<<20, -1
			if same {
				b.server.stop()
				small(t, "24m", b.data)
				if err := os.MkdirAll(b.opts.Dir, 0o700); err != nil {
					t.Fatal(err)
				}
				b.server.start()
			} else {
				small(t, "4m", b.opts.WorkRoot)
			}
			b.start()
			r := b.stack("full", run.OperationPlanAndApply, program(filling))
			result := b.do(r)
			if result.Outcome != run.OutcomeFailed || result.Class != run.FailureDisk || !result.ApplyStarted {
				t.Errorf("outcome %s, class %s: %s", result.Outcome, result.Class, result.Error)
			}
			state := string(r.lastState())
			for _, part := range []string{"precious", `"c"`, "number 999"} {
				if !strings.Contains(state, part) {
					t.Errorf("no %s in a state of %d bytes", part, len(state))
				}
			}
			if !strings.Contains(state, `"serial":1`) {
				t.Errorf("the rescued state has the serial of the one before:\n%.100s", state)
			}
			if strings.Contains(string(r.log), "number 999\",") || len(r.unproven()) > 0 {
				t.Errorf("unproven %v, or the state is in the log", r.unproven())
			}
		})
	}
}

// awaitMeasured waits until the meter has read a directory n times, as shown by its access time.
func awaitMeasured(t *testing.T, dir string, times int) {
	t.Helper()
	for i := range times {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("change-", i)), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		eventually(t, "the meter to read "+dir, func() bool {
			var stat unix.Stat_t
			if err := unix.Stat(dir, &stat); err != nil {
				t.Fatal(err)
			}
			return unix.TimespecToNsec(stat.Atim) > unix.TimespecToNsec(stat.Mtim)
		})
	}
}

// If others fill the disk, running runs continue, and new ones do not start.
func TestADiskThatOthersFillEndsNoRun(t *testing.T) {
	b := newBench(t)
	b.opts.MinFree, b.opts.Reserve = 1<<20, 40<<20
	small(t, "128m", b.opts.WorkRoot)
	b.start()
	r := b.server.submit(b.stack("honest", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "touch begun; until [ -e go ]; do sleep 0.1; done" }
}`)))
	src := filepath.Join(b.opts.WorkRoot, "team", "honest", workspace.SourceDir)
	eventually(t, "the apply begins", func() bool {
		_, err := os.Stat(filepath.Join(src, "begun"))
		return err == nil
	})
	filler := filepath.Join(b.opts.WorkRoot, "filler")
	if err := os.WriteFile(filler, make([]byte, 110<<20), 0o600); err != nil {
		t.Fatal(err)
	}
	awaitMeasured(t, src, 2)
	other := b.do(b.stack("other", run.OperationPlan, program(twoThings)))
	if other.Class != run.FailureDisk || !strings.Contains(other.Error, "are reserved for the server") {
		t.Errorf("another run: %s %s: %s", other.Outcome, other.Class, other.Error)
	}
	if err := os.WriteFile(filepath.Join(src, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
		t.Errorf("the honest run: %s %s: %s", result.Outcome, result.Class, result.Error)
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	if other := b.do(b.stack("later", run.OperationPlan, program(twoThings))); other.Outcome != run.OutcomeSucceeded {
		t.Errorf("with room again: %s: %s", other.Class, other.Error)
	}
}

// A program that fills the disk with an unlinked file is the one that the runner ends.
func TestWhoFillsTheDiskUnseenIsEnded(t *testing.T) {
	b := newBench(t)
	b.opts.MinFree, b.opts.Reserve = 1<<20, 60<<20
	small(t, "128m", b.opts.WorkRoot)
	b.start()
	result := b.do(b.stack("unseen", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "exec 3>hole; rm hole; for i in $(seq 600); do head -c 1000000 /dev/zero >&3 || exit 1; sleep 0.05; done" }
}`)))
	if result.Class != run.FailureLimit || !strings.Contains(result.Error, "has added the most") {
		t.Errorf("%s %s: %s", result.Outcome, result.Class, result.Error)
	}
}

func TestApplyNeedsSomeFreeSpaceToBegin(t *testing.T) {
	b := newBench(t)
	b.opts.MinFree = 1 << 60
	b.start()
	r := b.stack("nospace", run.OperationPlanAndApply, program(twoThings))
	result := b.do(r)
	if result.Class != run.FailureDisk || result.ApplyStarted || len(r.asked) > 0 || !strings.Contains(result.Error, "Nothing was changed") {
		t.Errorf("%+v", result)
	}
}
