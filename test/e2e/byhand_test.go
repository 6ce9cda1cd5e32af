// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

const twoNamed = `
variable "one" { default = "one" }
resource "terraform_data" "a" { input = var.one }
resource "terraform_data" "b" { input = "two" }
`

func suspended(obj *infrav1.Terraform) { obj.Spec.Suspend = true }

// name is a stack's name in commands.
func name(obj *infrav1.Terraform) string { return obj.Namespace + "/" + obj.Name }

// do runs a command that must succeed.
func (y *yuba) do(t *testing.T, args ...string) (out, news string) {
	t.Helper()
	out, news, code := y.run(t, args...)
	if code != 0 {
		t.Fatalf("yuba %s ended with %d:\n%s%s", strings.Join(args, " "), code, out, news)
	}
	return out, news
}

// applied creates a stack and suspends it once it is ready.
func (y *yuba) applied(t *testing.T, ns, stack, hcl string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
	t.Helper()
	obj := inline(ns, stack, hcl, append(change, auto)...)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	return obj
}

func (y *yuba) listed(t *testing.T, obj *infrav1.Terraform) string {
	t.Helper()
	out, _ := y.do(t, "state", "list", name(obj))
	return strings.Join(strings.Fields(strings.ReplaceAll(out, "terraform_data.", "")), " ")
}

func TestStateIsChangedByHandWhileTheStackIsSuspended(t *testing.T) {
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed)
	change(t, y, obj, suspended)
	out, _ := y.do(t, "state", "mv", name(obj), "terraform_data.b", "terraform_data.c", "--dry-run")
	if !strings.Contains(out, `Would move "terraform_data.b" to "terraform_data.c"`) || y.listed(t, obj) != "a b" {
		t.Errorf("the preview said %q, and the state has %s", out, y.listed(t, obj))
	}
	out, _ = y.do(t, "state", "mv", name(obj), "terraform_data.b", "terraform_data.c", "--yes", "-o", "json")
	var answer struct {
		Run, Verb, Outcome string
		Serial             uint64
	}
	if err := json.Unmarshal([]byte(out), &answer); err != nil || answer.Verb != "mv" || answer.Outcome != "succeeded" || answer.Serial == 0 || y.listed(t, obj) != "a c" {
		t.Errorf("answered %s, %v; the state has %s", out, err, y.listed(t, obj))
	}
	rec, err := y.content(t).Run(t.Context(), ns, "vpc", answer.Run)
	if err != nil || rec.By == "" || rec.Spec.Title() != "state mv" || rec.StatesStored != 1 {
		t.Errorf("run %+v, %v", rec, err)
	}
	y.do(t, "state", "rm", name(obj), "terraform_data.c", "--yes")
	if got := y.listed(t, obj); got != "a" {
		t.Errorf("the state has %s", got)
	}
	out, _ = y.do(t, "state", "import", name(obj), "terraform_data.b", "id-7", "--dry-run")
	if !strings.Contains(out, `Would import "id-7" as terraform_data.b`) || y.listed(t, obj) != "a" {
		t.Errorf("the preview said %q, and the state has %s", out, y.listed(t, obj))
	}
	y.do(t, "state", "import", name(obj), "terraform_data.b", "id-7", "--yes")
	if got := y.listed(t, obj); got != "a b" {
		t.Errorf("the state has %s", got)
	}
	if log, _ := y.do(t, "logs", name(obj), "--run", answer.Run); !strings.Contains(log, "Successfully moved 1 object") {
		t.Errorf("the log says %q", log)
	}
	unlocked(t, y, obj)
	// None of this changes the stack's conditions.
	now := y.await(t, obj, "no run is active", func(o *infrav1.Terraform) bool { return o.Status.CurrentRun == nil })
	if !ready(now) || now.Status.ReconciliationFailures != 0 || now.Status.LastRun.Operation != "plan-and-apply" {
		t.Errorf("status %+v", now.Status)
	}
}

func TestStateIsPushedAndGoesBack(t *testing.T) {
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed)
	change(t, y, obj, suspended)
	file := filepath.Join(t.TempDir(), "vpc.tfstate")
	out, _ := y.do(t, "state", "pull", name(obj))
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	y.do(t, "state", "rm", name(obj), "terraform_data.a", "--yes")
	if _, news, code := y.run(t, "state", "push", name(obj), file, "--yes"); code == 0 || !strings.Contains(news, "is newer") || !strings.Contains(news, "--force") {
		t.Errorf("an older one: %d %s", code, news)
	}
	told, _ := y.do(t, "state", "push", name(obj), file, "--force", "--dry-run")
	if !strings.Contains(told, "+ terraform_data.a") || y.listed(t, obj) != "b" {
		t.Errorf("the preview said %q, and the state has %s", told, y.listed(t, obj))
	}
	y.do(t, "state", "push", name(obj), file, "--force", "--yes")
	if got := y.listed(t, obj); got != "a b" {
		t.Errorf("the state has %s", got)
	}
	history, _ := y.do(t, "state", "history", name(obj), "-o", "json")
	var versions []struct{ ID, Run, Reason string }
	if err := json.Unmarshal([]byte(history), &versions); err != nil || versions[0].Run == "" || !strings.Contains(versions[0].Reason, "pushed by") {
		t.Fatalf("history %s, %v", history, err)
	}
	y.do(t, "state", "rollback", name(obj), versions[1].ID, "--yes")
	if got := y.listed(t, obj); got != "b" {
		t.Errorf("the state has %s", got)
	}
	runs, _ := y.do(t, "runs", name(obj))
	if !strings.Contains(runs, "state rollback") || !strings.Contains(runs, "state push") {
		t.Errorf("runs:\n%s", runs)
	}
	unlocked(t, y, obj)
}

// Approvers see what would happen: after a manual change of the state, Yuba makes the pending plan
// again.
func TestAPendingPlanIsMadeAnewWhenTheStateWasChangedByHand(t *testing.T) {
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed)
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = "" })
	change(t, y, obj, variable("one", "other"))
	pending := y.await(t, obj, "a plan is pending", func(o *infrav1.Terraform) bool { return o.Status.Plan.Pending != "" && o.Status.CurrentRun == nil })
	y.do(t, "state", "rm", name(obj), "terraform_data.b", "--yes")
	y.await(t, obj, "another plan is pending", func(o *infrav1.Terraform) bool {
		p := o.Status.Plan
		return p.Pending != "" && p.RunID != "" && p.RunID != pending.Status.Plan.RunID && strings.Contains(p.Summary, "+1") && o.Status.CurrentRun == nil
	})
}

func TestNothingIsChangedByHandBesideARunOrUnderSomebodysLock(t *testing.T) {
	y, obj, open := inTheMiddle(t)
	if _, news, code := y.run(t, "state", "rm", name(obj), "terraform_data.a", "--yes"); code == 0 || !strings.Contains(news, "is in progress") {
		t.Errorf("beside a run: %d %s", code, news)
	}
	if _, news, code := y.run(t, "shell", name(obj), "--", "true"); code == 0 || !strings.Contains(news, "is in progress") {
		t.Errorf("a shell beside a run: %d %s", code, news)
	}
	touch(t, open)
	y.await(t, obj, "it is ready", ready)
	var lease coordinationv1.Lease
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: obj.Namespace, Name: "lock-" + stateSecret(obj)}, &lease); err != nil {
		t.Fatal(err)
	}
	change(t, y, &lease, func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new(string); *l.Spec.HolderIdentity = "theirs" })
	for _, args := range [][]string{{"state", "rm", name(obj), "terraform_data.first", "--yes"}, {"shell", name(obj), "--", "true"}} {
		if _, news, code := y.run(t, args...); code == 0 || !strings.Contains(news, "theirs") {
			t.Errorf("%v under a lock: %d %s", args, code, news)
		}
	}
}

func TestAShellWorksOnTheStack(t *testing.T) {
	y, ns := common(t)
	obj := y.applied(t, ns, "vpc", twoNamed)
	out, _ := y.do(t, "shell", name(obj), "--", "tofu", "state", "list")
	if !strings.Contains(out, "terraform_data.a\nterraform_data.b\n") {
		t.Errorf("listed %q", out)
	}
	y.do(t, "shell", name(obj), "--", "tofu", "apply", "-auto-approve", "-var=one=by-hand")
	if state, _ := y.do(t, "state", "pull", name(obj)); !strings.Contains(state, "by-hand") {
		t.Error("what was applied by hand is not in the state")
	}
	if _, _, code := y.run(t, "shell", name(obj), "--", "sh", "-c", "exit 7"); code != 7 {
		t.Errorf("exit code %d, want 7", code)
	}
	runs, _ := y.do(t, "runs", name(obj), "-o", "json")
	if strings.Contains(runs, "by-hand") {
		t.Error("the arguments of the command are on record")
	}
	unlocked(t, y, obj)
	// The stack continues, and a drift check repairs the manual changes.
	change(t, y, obj, variable("one", "three"))
	y.await(t, obj, "the next run is over", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.ObservedGeneration == o.Generation && o.Status.LastRun.Operation == "plan-and-apply" && o.Status.CurrentRun == nil
	})
	if state, _ := y.do(t, "state", "pull", name(obj)); !strings.Contains(state, `"three"`) {
		t.Error("the next apply is not in the state")
	}
}

// shellAtWork opens a shell that has changed the state and waits, and returns its process.
func shellAtWork(t *testing.T) (*yuba, *infrav1.Terraform, *exec.Cmd) {
	t.Helper()
	y := alone(t)
	obj := y.applied(t, y.namespace(t), "vpc", twoNamed)
	person := exec.Command(filepath.Join(programs, "yuba"), "shell", name(obj), "--", "sh", "-c", "tofu state rm terraform_data.b; mkfifo gate; cat gate")
	person.Env = append(os.Environ(), "KUBECONFIG="+y.kubeconfig())
	if err := person.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		person.Process.Kill() //nolint:errcheck // it may be gone already
		person.Wait()         //nolint:errcheck // killed, or over
	})
	awaitFile(t, filepath.Join(y.dir, "work", obj.Namespace, "vpc", "src", "gate"))
	y.await(t, obj, "the shell is active", func(o *infrav1.Terraform) bool {
		return o.Status.CurrentRun != nil && o.Status.CurrentRun.Operation == string(run.OperationShell)
	})
	return y, obj, person
}

// handedBack checks that a shell which ended irregularly left its changes, its record and no lock.
func handedBack(t *testing.T, y *yuba, obj *infrav1.Terraform) {
	t.Helper()
	now := y.await(t, obj, "the shell is over", func(o *infrav1.Terraform) bool { return o.Status.CurrentRun == nil })
	if got := y.listed(t, obj); got != "a" {
		t.Errorf("the state has %s", got)
	}
	unlocked(t, y, obj)
	list, err := y.content(t).Runs(t.Context(), obj.Namespace, obj.Name, 10)
	if err != nil {
		t.Fatal(err)
	}
	if rec := list.Items[len(list.Items)-2]; rec.Spec.Operation != run.OperationShell || rec.Result == nil || rec.Result.Outcome != run.OutcomeInterrupted {
		t.Errorf("run %+v", rec)
	}
	if now.Status.ReconciliationFailures != 0 {
		t.Errorf("it counts as a failure of the stack: %+v", now.Status)
	}
	change(t, y, obj, variable("one", "three"))
	y.await(t, obj, "the stack continues", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.ObservedGeneration == o.Generation && o.Status.CurrentRun == nil
	})
}

func TestAPersonsProcessKilledInAShell(t *testing.T) {
	y, obj, person := shellAtWork(t)
	person.Process.Kill() //nolint:errcheck // the next line reports an error
	person.Wait()         //nolint:errcheck // killed
	handedBack(t, y, obj)
}

func TestServerKilledWhileAShellIsOpen(t *testing.T) {
	y, obj, person := shellAtWork(t)
	y.kill()
	y.restart(t)
	// The shell continues: nothing replaces it, and it ends regularly.
	if _, news, code := y.run(t, "state", "rm", name(obj), "terraform_data.a", "--yes"); code == 0 || !strings.Contains(news, "is in progress") {
		t.Errorf("beside the shell: %d %s", code, news)
	}
	touchGate(t, filepath.Join(y.dir, "work", obj.Namespace, "vpc", "src", "gate"))
	if err := person.Wait(); err != nil {
		t.Fatalf("the shell ended with %v", err)
	}
	y.await(t, obj, "the shell is over", func(o *infrav1.Terraform) bool { return o.Status.CurrentRun == nil })
	if got := y.listed(t, obj); got != "a" {
		t.Errorf("the state has %s", got)
	}
	unlocked(t, y, obj)
}

func TestServerAndPersonsProcessKilledInAShell(t *testing.T) {
	y, obj, person := shellAtWork(t)
	y.kill()
	person.Process.Kill() //nolint:errcheck // the next line reports an error
	person.Wait()         //nolint:errcheck // killed
	y.restart(t)
	handedBack(t, y, obj)
}

// touchGate opens the gate: it lets the reader of a pipe continue.
func touchGate(t *testing.T, path string) {
	t.Helper()
	file, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	file.Close()
}
