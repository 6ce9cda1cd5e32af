// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Temporary files are on a watched disk, are counted, and are removed after the run.
func TestTemporaryFilesAreOnADiskThatIsWatched(t *testing.T) {
	for name, confined := range map[string]bool{"with namespaces": true, "without": false} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			if !confined {
				b.unconfined()
			}
			runner := b.runner()
			b.process()
			r := b.stack("temp", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "head -c 3000000 /dev/zero > $TMPDIR/three; echo x > reached; for i in $(seq 600); do [ -e go ] && break; sleep 0.05; done"
  }
}`))
			b.server.submit(r)
			source := filepath.Join(b.opts.WorkRoot, "team", "temp", workspace.SourceDir)
			eventually(t, "the temporary file", func() bool {
				_, err := os.Stat(filepath.Join(source, "reached"))
				return err == nil
			})
			temp := b.journal(r).TempDir
			if info, err := os.Stat(filepath.Join(temp, "three")); err != nil || info.Size() != 3_000_000 {
				t.Errorf("%v", err)
			}
			if runner.Walls.Alone() && filepath.Dir(temp) != filepath.Dir(source) {
				t.Errorf("temporary files are in %s", temp)
			}
			if !runner.Walls.Alone() && !slices.Contains(runner.Disks(), filepath.Dir(temp)) {
				t.Errorf("%s is not watched: %v", filepath.Dir(temp), runner.Disks())
			}
			j := runner.newJob("other", "")
			j.site.Space = &workspace.Workspace{Base: filepath.Dir(source), Temp: temp}
			if taken := j.program.Measured().Use(j.site.MeasuredDirs()).Bytes; taken < 3_000_000 || taken > 6_000_000 {
				t.Errorf("%d bytes are counted", taken)
			}
			b.put(filepath.Join(source, "go"), nil)
			if result := b.server.finished(r); result.Outcome != run.OutcomeSucceeded {
				t.Errorf("%+v", result)
			}
			eventually(t, "the end of the temporary files", func() bool {
				_, err := os.Stat(temp)
				return os.IsNotExist(err)
			})
		})
	}
}
