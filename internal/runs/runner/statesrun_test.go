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
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// scribbling makes a program replace tofu's state again and again, each time atomically: a partial
// write at the end would spoil tofu's own state.
func scribbling(times int, state string) string {
	return fmt.Sprintf(`
resource "terraform_data" "kept" {}
resource "terraform_data" "scribbler" {
  depends_on = [terraform_data.kept]
  provisioner "local-exec" {
    command = "head -c 4000000 /dev/zero | tr '\\0' x > filling; until [ -e go ]; do sleep 0.05; done; i=0; while [ $i -lt %d ]; do i=$((i+1)); { %s; cat filling; printf '\"}'; } > next; dd if=next of=terraform.tfstate bs=8M 2>/dev/null; sleep 0.4; done"
  }
}`, times, state)
}

// While the server is away, a program writes endless states: few are kept, and the last one is not
// lost.
func TestStatesWithoutEndFillNoDisk(t *testing.T) {
	for name, c := range map[string]struct {
		times int
		state string
		class run.Failure
	}{
		"of tofu's own lineage": {15, `printf '{\"version\":4,\"serial\":1,\"lineage\":\"%s\",\"i\":\"%s' $lineage $i`, ""},
		"of one each":           {1000, `printf '{\"version\":4,\"serial\":1,\"lineage\":\"%s\",\"i\":\"' $i`, run.FailureLimit},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.opts.ServerGone = time.Minute
			b.start()
			text := strings.Replace(scribbling(c.times, c.state), "i=0;", `lineage=$(sed -n 's/.*\"lineage\": *\"\\([^\"]*\\)\".*/\\1/p' terraform.tfstate | head -n 1); i=0;`, 1)
			r := b.stack("scribbled", run.OperationPlanAndApply, program(text))
			r.spec.Limits.Run.DiskBytes = 40 << 20
			b.server.submit(r)
			b.server.wait(r, "the creation of the first", func() bool { return strings.Contains(string(r.log), "terraform_data.kept: Creation complete") })
			b.server.stop()
			b.put(filepath.Join(b.opts.WorkRoot, "team", "scribbled", workspace.SourceDir, "go"), nil)
			most := 0
			eventually(t, "a result in the spool", func() bool {
				most = max(most, len(spool.Dir{Root: b.spooled(r, "")}.Sequences()))
				_, err := os.Stat(b.spooled(r, spool.ResultFile))
				return err == nil
			})
			spooled := b.journal(r).States
			b.server.start()
			result := b.server.finished(r)
			if c.class == "" && most > 3 || spooled < 4 { // a slow machine misses some
				t.Errorf("%d of %d states in the spool at once", most, spooled)
			}
			if result.Class != c.class || c.class != "" && !strings.Contains(result.Error, "(--run-disk)") {
				t.Errorf("%s %s: %s", result.Outcome, result.Class, result.Error)
			}
			if last := string(r.lastState()); !strings.Contains(last, `"kept"`) || result.StateDigest != spool.Digest(r.lastState()) {
				t.Errorf("the last of %d states is %.100s\n%s", len(r.states), last, r.log)
			}
		})
	}
}
