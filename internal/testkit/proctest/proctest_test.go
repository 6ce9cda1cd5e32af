// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package proctest_test

import (
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/testkit/proctest"
)

func TestProcessesAreFoundByTheirDirectory(t *testing.T) {
	here, elsewhere := t.TempDir(), t.TempDir()
	begin := func(dir string, words ...string) int {
		cmd := exec.Command("/bin/sh", append([]string{"-c", "read x", "sh"}, words...)...)
		cmd.Dir = dir
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			in.Close()
			cmd.Wait()
		})
		return cmd.Process.Pid
	}
	works, names, other := begin(here), begin(elsewhere, "--data-dir="+here), begin(elsewhere)
	// A process has its own command line a moment after it was started.
	for deadline := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		var found []int
		for _, p := range proctest.About(here) {
			if p.Program == "sh" {
				found = append(found, p.PID)
			}
		}
		if slices.Contains(found, works) && slices.Contains(found, names) && !slices.Contains(found, other) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("found %v, want %d and %d, not %d", found, works, names, other)
		}
	}
}
