// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// The values of variables are in a file that only the runner's user can read, while tofu runs. Afterwards they are gone, also if
// the run fails, and are in no log.
func TestVariablesAreInAFileOfTheirOwner(t *testing.T) {
	b := newBench(t).start()
	for name, c := range map[string]struct{ command, value string }{
		"succeeds": {"stat -c 'mode %a' generated.auto.tfvars.json", "v4lue-one"},
		"fails":    {"stat -c 'mode %a' generated.auto.tfvars.json; exit 1", "v4lue-two"},
	} {
		r := b.stack("tfvars-"+name, run.OperationPlanAndApply, program(`
variable "v" { sensitive = true }
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "`+c.command+`"
  }
}`))
		r.spec.Variables = map[string]run.Variable{"v": {Value: []byte(`"` + c.value + `"`)}}
		result := b.do(r)
		if failed := result.Outcome != run.OutcomeSucceeded; failed != (name == "fails") {
			t.Fatalf("%s: %+v\n%s", name, result, r.log)
		}
		if !bytes.Contains(r.log, []byte("mode 600")) {
			t.Errorf("%s: the file is readable by others:\n%s", name, r.log)
		}
		if bytes.Contains(r.log, []byte(c.value)) {
			t.Errorf("%s: the log has the value:\n%s", name, r.log)
		}
		file := filepath.Join(b.opts.WorkRoot, "team", "tfvars-"+name, "src", workspace.TfvarsName)
		if _, err := os.Stat(filepath.Dir(file)); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %s stays: %v", name, workspace.TfvarsName, err)
		}
	}
}
