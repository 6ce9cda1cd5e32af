// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/yuba-dev/yuba/internal/run"
)

// small mounts a file system of a few MiB at each directory. Mounting needs privileges, as CI and developers' machines
// have them in containers; the test fails rather than pretends without.
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

// filling fills the disk to the last byte in the middle of the apply, then creates one more resource.
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
			b.opts.MinFree = 1 << 20
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
			if strings.Contains(string(r.log), "number 999\",") || len(result.Lost) > 0 {
				t.Errorf("lost %v, or the state is in the log", result.Lost)
			}
		})
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
