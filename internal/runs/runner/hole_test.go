// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/statekeeper"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// A sparse file of a gigabyte costs a program nothing, and must not cost the runner memory.
func TestAFileWithAHoleTakesNoMemory(t *testing.T) {
	name := filepath.Join(t.TempDir(), workspace.StateName)
	if err := os.WriteFile(name, []byte(`{"version":4`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(name, statekeeper.MaxState); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, limit := range []int64{statekeeper.MaxState, 1 << 20} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		data, err := workspace.ReadUpTo(file, limit)
		runtime.ReadMemStats(&after)
		if err == nil || data != nil {
			t.Errorf("up to %d: %d bytes, %v", limit, len(data), err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 1<<20 {
			t.Errorf("up to %d: it took %d bytes of memory", limit, taken)
		}
	}
}

func TestAFileIsReadWhole(t *testing.T) {
	name, text := filepath.Join(t.TempDir(), workspace.StateName), strings.Repeat("x", 3<<20)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for range 2 {
		if data, err := workspace.ReadUpTo(file, int64(len(text))); err != nil || string(data) != text {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	}
}

// A program that makes its state file huge does not disturb the run: tofu then writes its own
// state.
func TestAHugeStateOfAProgramIsNotShipped(t *testing.T) {
	b := newBench(t).start()
	r := b.stack("huge", run.OperationPlanAndApply, program(twoThings+`
resource "terraform_data" "huge" {
  provisioner "local-exec" {
    command = "for i in $(seq 50); do truncate -s $((900000000 + i)) terraform.tfstate.d/default/terraform.tfstate terraform.tfstate 2>/dev/null; done; true"
  }
}
`))
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	b.succeed(r)
	runtime.ReadMemStats(&after)
	if taken := after.TotalAlloc - before.TotalAlloc; taken > 200<<20 {
		t.Errorf("the runner took %d MiB", taken>>20)
	}
	if state := string(r.lastState()); !strings.Contains(state, `"huge"`) {
		t.Errorf("the state is\n%.1000s", state)
	}
}
