// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/shell"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// granted makes a stack's shell run, which the server offers to no runner.
func (b *bench) granted(r *fakeRun) run.ShellGrant {
	b.t.Helper()
	b.server.mu.Lock()
	defer b.server.mu.Unlock()
	r.token, r.changed = run.NewToken(), make(chan struct{})
	b.server.runs[r.spec.ID] = r
	return run.ShellGrant{ID: r.spec.ID, Token: r.token, Host: "here", URL: b.server.http.URL, Dir: b.opts.Dir, WorkRoot: b.opts.WorkRoot,
		Tofu: b.opts.Tofu, Sandbox: b.opts.Sandbox}
}

// shell executes a run at a fake terminal.
func (b *bench) shell(r *fakeRun, input string, command ...string) (out string, code int, result run.Result) {
	b.t.Helper()
	var stdout, stderr bytes.Buffer
	t := &shell.Terminal{In: strings.NewReader(input), Out: &stdout, Err: &stderr, Command: command}
	code, result, err := OpenShell(b.t.Context(), b.granted(r), "test", t)
	if err != nil {
		b.t.Fatal(err)
	}
	return stdout.String() + stderr.String(), code, result
}

func TestTofuJustWorksInAShell(t *testing.T) {
	b := newBench(t)
	r := b.stack("shell", run.OperationShell, map[string]string{"main.tf": `
variable "which" {}
variable "more" { default = "" }
resource "terraform_data" "a" { input = "${var.which}${var.more}" }
`, "values/more.tfvars": `more = "-and-more"`})
	r.spec.Variables = map[string]run.Variable{"which": {Value: []byte(`"one"`)}}
	r.spec.VarFiles = []string{"values/more.tfvars"}
	r.spec.Env = []run.EnvVar{{Name: "CLOUD_TOKEN", Value: "it's s3cret", Secret: true}, {Name: "BASH_ENV", Value: "evil"}, {Name: "LD_PRELOAD", Value: "evil.so"},
		{Name: "TAR_OPTIONS", Value: "evil"}, {Name: "YUBA_TOKEN", Value: "evil"}, {Name: "TF_VAR_more", Value: "it counts for less than a file"}}
	out, code, result := b.shell(r, "", "tofu", "apply", "-auto-approve", "-no-color")
	if code != 0 || result.Outcome != run.OutcomeSucceeded || !strings.Contains(out, "Apply complete! Resources: 1 added") {
		t.Fatalf("code %d, %+v\n%s", code, result, out)
	}
	if len(r.states) == 0 || !strings.Contains(string(r.lastState()), "one-and-more") || len(r.asked) != 1 {
		t.Errorf("%d states were shipped, asked %d times", len(r.states), len(r.asked))
	}
	second := r.again(run.OperationShell)
	out, code, _ = b.shell(second, "tofu state list; tofu plan -detailed-exitcode >/dev/null; echo plan $?; echo token \"$CLOUD_TOKEN\"; env; pwd; cat $(command -v tofu); exit 3\n")
	if code != 3 || !strings.Contains(out, "terraform_data.a\n") || !strings.Contains(out, "plan 0\n") || !strings.Contains(out, "token it's s3cret") {
		t.Errorf("code %d\n%s", code, out)
	}
	if !strings.Contains(out, "export TAR_OPTIONS='evil'") || !strings.Contains(out, "\nTF_VAR_more=") {
		t.Errorf("tofu would not find all of the stack's environment\n%s", out)
	}
	for _, evil := range []string{"BASH_ENV", "LD_PRELOAD", "TAR_OPTIONS", "YUBA_TOKEN", "TF_INPUT", "SECRET_OF_THE_RUNNER"} {
		if strings.Contains(out, "\n"+evil+"=") {
			t.Errorf("the shell's environment has %s", evil)
		}
	}
	if len(second.states) != 0 || !strings.Contains(second.result.Text, "exit code 3") {
		t.Errorf("%d states, %+v", len(second.states), second.result)
	}
	for _, secret := range []string{"s3cret", "one-and-more"} {
		if bytes.Contains(append(r.log, second.log...), []byte(secret)) {
			t.Errorf("%q is in the log", secret)
		}
	}
	base := filepath.Join(b.opts.WorkRoot, "team", "shell")
	for _, name := range []string{"src/terraform.tfstate", "src/" + workspace.TfvarsName, "bin", "shell"} {
		if _, err := os.Stat(filepath.Join(base, name)); err == nil {
			t.Errorf("%s was left behind", name)
		}
	}
	if left, err := os.ReadDir(filepath.Join(b.opts.Dir, run.ShellDir)); err != nil || len(left) > 2 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// A user's changes to the tree are gone in the next run, which plans the stack's program.
func TestWhatIsChangedInAShellIsNotTheProgram(t *testing.T) {
	b := newBench(t).start()
	first := b.appliedStack("tree")
	shell := first.again(run.OperationShell)
	if out, code, _ := b.shell(shell, "", "sh", "-c", `echo 'resource "terraform_data" "c" {}' >more.tf; rm main.tf`); code != 0 {
		t.Fatalf("code %d: %s", code, out)
	}
	if result := b.succeed(first.again(run.OperationPlan)); result.Plan.Changes {
		t.Errorf("%+v", result.Plan)
	}
}

func TestWhatKeepsAShellFromOpening(t *testing.T) {
	b := newBench(t)
	t.Run("this is not the machine", func(t *testing.T) {
		grant := b.granted(b.stack("elsewhere", run.OperationShell, program(twoNamed)))
		for what, dir := range map[string]string{"no such directory": filepath.Join(t.TempDir(), "none"), "another Yuba's": b.opts.Dir} {
			grant := grant
			grant.Dir, grant.URL = dir, "https://127.0.0.1:1"
			var elsewhere *shell.NotHereError
			_, _, err := OpenShell(t.Context(), grant, "test", &shell.Terminal{})
			if !errors.As(err, &elsewhere) || !strings.Contains(err.Error(), "the machine that executes runs, here,") {
				t.Errorf("%s: %v", what, err)
			}
		}
	})
	t.Run("somebody has the lock", func(t *testing.T) {
		r := b.stack("locked", run.OperationShell, program(twoNamed))
		r.answer = run.ContinueResponse{Outcome: run.OutcomeFailed, Class: run.FailureLocked, Reason: "locked by ci@build7"}
		if _, _, result := b.shell(r, "", "touch", "never"); result.Class != run.FailureLocked || !strings.Contains(result.Error, "ci@build7") {
			t.Errorf("%+v", result)
		}
	})
	t.Run("the program is wrong", func(t *testing.T) {
		r := b.stack("wrong", run.OperationShell, program("resource {"))
		if _, _, result := b.shell(r, "", "touch", "never"); result.FailedStep != run.StepInit {
			t.Errorf("%+v", result)
		}
	})
	t.Run("there is no such command", func(t *testing.T) {
		r := b.stack("command", run.OperationShell, program(twoNamed))
		if _, _, result := b.shell(r, "", "no-such-program"); !strings.Contains(result.Error, "the program is not in") || r.result == nil {
			t.Errorf("%+v", result)
		}
	})
	t.Run("its run is over", func(t *testing.T) {
		r := b.stack("over", run.OperationShell, program(twoNamed))
		grant := b.granted(r)
		r.result = &run.Result{}
		if _, _, err := OpenShell(t.Context(), grant, "test", &shell.Terminal{}); link.Refused(err) == 0 {
			t.Errorf("got %v", err)
		}
	})
}

// envShell makes the test binary a user's process.
const envShell = "YUBA_TEST_SHELL"

func playPerson(text string) int {
	var grant run.ShellGrant
	if err := json.Unmarshal([]byte(text), &grant); err != nil {
		return 2
	}
	command := []string{"sh", "-c", "tofu apply -auto-approve >/dev/null; tofu state rm terraform_data.b; mkfifo gate; cat gate; true"}
	code, _, err := OpenShell(context.Background(), grant, "test", &shell.Terminal{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Command: command})
	if err != nil {
		return 1
	}
	return code
}

// A user's process is killed while a program that it started still works. The machine's runner ends
// that program, ships the state and delivers the result.
func TestAShellWhoseProcessIsKilledIsTakenOver(t *testing.T) {
	b := newBench(t)
	r := b.stack("killed", run.OperationShell, program(twoNamed))
	r.spec.Limits.Grace = 1
	grant := b.granted(r)
	text, err := json.Marshal(grant)
	if err != nil {
		t.Fatal(err)
	}
	person := exec.Command(os.Args[0], "-test.run=^$")
	person.Env = []string{envShell + "=" + string(text), "PATH=" + os.Getenv("PATH")}
	person.Stderr = os.Stderr
	if err := person.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		person.Process.Kill()
		person.Wait()
		for _, pid := range startedFrom(r.spec.ID) { // of a failed test
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	b.atGate("killed", "gate")
	// The shell dies with the user's process; its child does not.
	eventually(t, "the program that the shell waits for", func() bool {
		for _, pid := range startedFrom(r.spec.ID) {
			if name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid)); string(name) == "cat\n" {
				return true
			}
		}
		return false
	})
	b.server.wait(r, "the states", func() bool { return len(r.states) > 0 && !bytes.Contains(r.lastState(), []byte(`"b"`)) })
	if err := person.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = person.Wait() // killed, of course
	if len(startedFrom(r.spec.ID)) == 0 {
		t.Error("no process is left to end: the test proves little")
	}
	b.start()
	b.server.mu.Lock()
	b.server.queue = append(b.server.queue, run.Assignment{ID: r.spec.ID, Token: r.token})
	b.server.mu.Unlock()
	b.server.notify()
	result := b.server.finished(r)
	if result.Outcome != run.OutcomeInterrupted || !result.ApplyStarted || strings.Join(inState(t, r.lastState()), " ") != "a" {
		t.Errorf("%+v, the state has %v", result, inState(t, r.lastState()))
	}
	for _, pid := range startedFrom(r.spec.ID) {
		t.Errorf("process %d of the shell still runs", pid)
	}
}

// startedFrom finds the processes started from a shell.
func startedFrom(id string) (pids []int) {
	paths, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, path := range paths {
		env, _ := os.ReadFile(path) // a process that has ended has none
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && bytes.Contains(env, []byte("YUBA_RUN="+id+"\x00")) {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAShellThatNobodyIsAtIsOver(t *testing.T) {
	b := newBench(t).start()
	result := b.do(b.stack("nobody", run.OperationShell, program(twoNamed)))
	if result.Outcome != run.OutcomeCanceled || !strings.Contains(result.Error, "the user's terminal is closed") {
		t.Errorf("%+v", result)
	}
}
