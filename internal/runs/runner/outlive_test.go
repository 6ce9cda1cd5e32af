// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
)

// unconfined runs programs as on a kernel without confinement: they see /proc and can outlive the
// run.
func (b *bench) unconfined() *bench {
	b.t.Helper()
	b.opts.Sandbox = filepath.Join(b.t.TempDir(), "sandbox")
	if err := os.WriteFile(b.opts.Sandbox, []byte(noSandbox), 0o755); err != nil {
		b.t.Fatal(err)
	}
	return b
}

// noSandbox replaces the sandbox on a kernel without confinement.
const noSandbox = `#!/bin/sh
while [ "$1" != -- ]; do
	case "$1" in
	-root | -user) echo "yuba-sandbox: this kernel has no namespaces" >&2; exit 1 ;;
	-probe) echo "landlock 0"; echo "filter 0"; exit 0 ;;
	esac
	shift
done
shift
exec "$@"
`

// soon fails the test unless the run ends in time: it holds a place that others wait for.
func (b *bench) soon(r *fakeRun) *run.Result {
	b.t.Helper()
	b.server.submit(r)
	deadline := time.Now().Add(30 * time.Second)
	eventually(b.t, "the result", func() bool {
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		if r.result == nil && time.Now().After(deadline) {
			b.t.Fatalf("no result after 30s; the log says:\n%s", r.log)
		}
		return r.result != nil
	})
	return r.result
}

// plainKey is the rest of a program that gives tofu a key.
const plainKey = `echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
cat >/dev/null
echo '{"keys":{"encryption_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","decryption_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},"meta":{"external_data":{}}}'
`

// keyProvider is a program that gives tofu a key for plans, and leaves a process that replaces
// tofu's output with another plan wherever it can open it.
const keyProvider = `#!/bin/sh
echo '{"magic":"OpenTofu-External-Key-Provider","version":1}'
cat >/dev/null
setsid sh -c "exec 3<>/proc/$PPID/fd/1; cat <&3 >/dev/null & sleep 0.2; echo '{\"format_version\":\"1.2\",\"forged\":true}' >&3" 2>%s/said </dev/null >/dev/null &
echo '{"keys":{"encryption_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=","decryption_key":"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="},"meta":{"external_data":{}}}'
`

// externalKey makes tofu encrypt plans with the key from ./key.sh.
func externalKey(t *testing.T) run.EnvVar {
	t.Helper()
	configuration, err := json.Marshal(map[string]any{
		"key_provider": map[string]any{"external": map[string]any{"k": map[string]any{"command": []string{"/bin/sh", "./key.sh"}}}},
		"method":       map[string]any{"aes_gcm": map[string]any{"m": map[string]any{"keys": "key_provider.external.k"}}},
		"plan":         map[string]any{"method": "method.aes_gcm.m", "enforced": true},
	})
	if err != nil {
		t.Fatal(err)
	}
	return run.EnvVar{Name: "TF_ENCRYPTION", Value: string(configuration)}
}

// A program that runs while tofu shows the plan cannot change the output, even unconfined.
func TestAProgramForgesNothingThatTofuShows(t *testing.T) {
	b := newBench(t).unconfined().start()
	loot := t.TempDir()
	files := program(twoThings)
	files["key.sh"] = fmt.Sprintf(keyProvider, loot)
	r := b.stack("forges", run.OperationPlan, files)
	r.spec.Describe, r.spec.PlanDocument, r.spec.PlanText = true, true, true
	r.spec.Env = []run.EnvVar{externalKey(t)}
	result := b.soon(r)
	if result.Outcome != run.OutcomeSucceeded {
		t.Errorf("%+v\n%s", result, r.log)
	}
	for what, text := range map[string][]byte{"document": r.planShow, "text": r.planText, "plan": r.planJSON} {
		if !strings.Contains(string(text), "terraform_data") || strings.Contains(string(text), "forged") {
			t.Errorf("the %s is:\n%s", what, text)
		}
	}
	if said, err := os.ReadFile(filepath.Join(loot, "said")); err != nil || !strings.Contains(string(said), "/fd/1") {
		t.Errorf("it was not tried, or not refused: %s %v", said, err)
	}
}

func TestOutputThatWasCutOffIsSaid(t *testing.T) {
	b := newBench(t).unconfined().start()
	r := b.stack("cut", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" { command = "echo the first words; sleep 1; : >/proc/$PPID/fd/1; echo the last words" }
}`))
	result := b.do(r)
	for _, words := range []string{"the first words", "the last words", "was truncated while it was read", "Apply complete!"} {
		if !strings.Contains(string(r.log), words) {
			t.Errorf("no %q in the log:\n%s", words, r.log)
		}
	}
	if result.Outcome != run.OutcomeSucceeded || !strings.Contains(strings.Join(result.Warnings, "\n"), "truncated while it was read") {
		t.Errorf("%+v", result)
	}
}

func TestAnUnreadableRunOfARunnerBeforeDoesNotEndThisOne(t *testing.T) {
	b := newBench(t)
	spec := filepath.Join(b.opts.Dir, "runs", "broken", spool.SpecFile)
	if err := os.MkdirAll(spec, 0o700); err != nil { // a directory in place of a file: every read fails
		t.Fatal(err)
	}
	b.put(filepath.Join(b.opts.Dir, "runs", "file"), nil)
	b.start()
	b.succeed(b.stack("works", run.OperationPlanAndApply, program(twoThings)))
	if _, err := os.Stat(spec); err != nil {
		t.Errorf("what could not be read is gone: %v", err)
	}
}

// A program that never ends, and a daemon that writes to tofu's output forever: after the run's
// timeout its place is free.
func TestARunWhoseTimeIsOverGivesItsPlaceBack(t *testing.T) {
	b := newBench(t).unconfined()
	b.opts.Capacity = 1
	b.start()
	hostile := b.stack("hostile", run.OperationPlanAndApply, program(`
resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "trap '' INT TERM; setsid sh -c \"while sleep 0.01; do echo more >>/proc/$PPID/fd/1 || exit; done\" & setsid sleep 30 & sleep 30"
  }
}`))
	hostile.spec.Limits.Timeout, hostile.spec.Limits.Grace = run.Duration(2*time.Second), run.Duration(time.Second)
	b.server.submit(hostile)
	next := b.stack("next", run.OperationPlan, program(twoThings))
	if result := b.soon(next); result.Outcome != run.OutcomeSucceeded {
		t.Errorf("%+v", result)
	}
	if result := b.server.finished(hostile); result.Outcome != run.OutcomeFailed || result.Class != run.FailureLimit {
		t.Errorf("%s %s: %s", result.Outcome, result.Class, result.Error)
	}
}
