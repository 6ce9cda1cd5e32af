// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/handover"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// session connects to the API as a command does.
func (y *yuba) session(t *testing.T) *session.Session {
	t.Helper()
	a := &session.App{Console: &ui.Console{In: strings.NewReader(""), Out: io.Discard, Err: io.Discard}, DataDir: y.dir}
	s, err := a.Connect()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// ownersTofu runs tofu as the new owner.
func ownersTofu(t *testing.T, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), tofutest.Tofu(t), args...)
	cmd.Dir, cmd.Env = dir, []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "TF_IN_AUTOMATION=1"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func fileOf(t *testing.T, data []byte) *statefile.File {
	t.Helper()
	file, err := statefile.Parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// owned is a stack with a variable from a Secret, an environment, and a workspace directory of its own.
func (y *yuba) owned(t *testing.T, ns, name string) (obj *infrav1.Terraform, id string) {
	t.Helper()
	obj = pushed(ns, name, "code", variable("name", "world"), auto, destroying)
	y.create(t, obj)
	obj = y.await(t, obj, "it is applied", ready)
	return obj, firstID(t, y.state(t, obj))
}

func readyForHandover(t *testing.T) (*yuba, string) {
	t.Helper()
	y, ns := alone(t), "owners"
	y.create(t, namespaceObject(ns))
	y.push(t, ns, "code", map[string]string{"main.tf": greeting})
	return y, ns
}

// A stack goes to plain tofu, which finds no changes, changes it, and gives it back with its state.
func TestHandOverToTofuAndBack(t *testing.T) {
	t.Parallel()
	y, ns := readyForHandover(t)
	obj, id := y.owned(t, ns, "vpc")
	dir := t.TempDir()
	_, news := y.do(t, "hand-over", name(obj), "--to", "tofu", "--dir", dir, "--tool", tofutest.Tofu(t), "--yes")
	if !strings.Contains(news, "a plan in the directory finds no changes") {
		t.Errorf("it says: %s", news)
	}
	// This home refuses, says who has it, and survives everything that people try.
	runs := y.runIDs(t, ns, "vpc")
	y.do(t, "resume", name(obj))
	y.do(t, "replan", name(obj))
	obj = y.await(t, obj, "it is refused although it is resumed", func(o *infrav1.Terraform) bool {
		return failedWith(infrav1.ReasonMoved)(o) && !o.Spec.Suspend && o.Status.ObservedGeneration == o.Generation
	})
	if c := condition(obj, infrav1.ConditionReady); !strings.Contains(c.Message, "Handed over to tofu in "+dir) || !strings.Contains(c.Message, "yuba take-back "+name(obj)) {
		t.Errorf("its condition: %s", c.Message)
	}
	if _, news, code := y.run(t, "state", "rm", name(obj), "terraform_data.greeting", "--yes"); code == 0 || !strings.Contains(news, "Handed over to") {
		t.Errorf("its state can be changed: %s", news)
	}
	if got := y.runIDs(t, ns, "vpc"); !slices.Equal(runs, got) {
		t.Errorf("it ran: %v, had %v", got, runs)
	}
	if out, _ := y.do(t, "kubectl", "get", "tf", "-n", ns); !strings.Contains(out, "Handed over to") {
		t.Errorf("kubectl get says: %s", out)
	}
	if _, news, code := y.run(t, "hand-over", name(obj), "--to", "tofu", "--dir", t.TempDir(), "--no-proof", "--yes"); code == 0 || !strings.Contains(news, "it belongs to tofu in "+dir) {
		t.Errorf("it is handed over twice: %d %s", code, news)
	}
	// The owner changes it.
	module := filepath.Join(dir, ns, "vpc", "program")
	for _, file := range []string{"terraform.tfstate", "generated.auto.tfvars.json"} {
		if info, err := os.Stat(filepath.Join(module, file)); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", file, info, err)
		}
	}
	if out, err := ownersTofu(t, module, "init", "-input=false"); err != nil {
		t.Fatal(out)
	}
	if out, err := ownersTofu(t, module, "plan", "-input=false", "-detailed-exitcode"); err != nil {
		t.Fatalf("the owner's plan has changes: %s", out)
	}
	if err := os.WriteFile(filepath.Join(module, "more.tf"), []byte(`resource "terraform_data" "more" {}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := ownersTofu(t, module, "apply", "-input=false", "-auto-approve"); err != nil {
		t.Fatal(out)
	}
	// And gives it back.
	_, news = y.do(t, "take-back", name(obj), "--yes", "--suspended")
	if !strings.Contains(news, "has the state of the directory") {
		t.Errorf("it says: %s", news)
	}
	if got := fileOf(t, y.state(t, obj)); len(got.Resources) != 2 || got.Resources[0].ID != id {
		t.Errorf("its state has %+v, want 2 resources and the id %s", got.Resources, id)
	}
	if out, err := ownersTofu(t, module, "plan", "-input=false"); err == nil || !strings.Contains(out, "was taken back by Yuba") {
		t.Errorf("the owner can still plan: %s", out)
	}
	obj = y.stack(t, ns, "vpc")
	if len(obj.Annotations[moving.AnnotationHandedOver]) > 0 || !obj.Spec.Suspend || !obj.Spec.DestroyResourcesOnDeletion {
		t.Errorf("it is not as it was: %+v %+v", obj.Annotations, obj.Spec)
	}
}

var errEnded = errors.New("ended")

// The command ends after each of its steps, in both directions. At no time can both owners run the stack, and
// the same command continues.
func TestExactlyOneOwnerAtAnyStep(t *testing.T) {
	t.Parallel()
	y, ns := readyForHandover(t)
	s := y.session(t)
	until := func(last string) func(string) error {
		return func(step string) error {
			if step == last {
				return errEnded
			}
			return nil
		}
	}
	always := func(string) error { return nil }
	for i, step := range []string{"marked", "quiet", "written", "armed", "recorded"} {
		obj, id := y.owned(t, ns, fmt.Sprintf("give-%d", i))
		key, request := client.ObjectKeyFromObject(obj), handover.Request{To: "tofu", Dir: t.TempDir(), Step: until(step)}
		if err := request.HandOver(t.Context(), s, key); !errors.Is(err, errEnded) {
			t.Fatalf("%s: %v", step, err)
		}
		y.onlyOneRuns(t, request.Dir, key, step)
		// Either go on, or go back.
		request.Step = always
		if i%2 == 0 && step != "recorded" {
			if err := request.HandOver(t.Context(), s, key); err != nil {
				t.Fatalf("%s, and again: %v", step, err)
			}
			y.onlyOneRuns(t, request.Dir, key, step+" and again")
		}
		if err := request.TakeBack(t.Context(), s, key); err != nil {
			t.Fatalf("%s, and back: %v", step, err)
		}
		y.backAgain(t, obj, id, step)
	}
	for i, step := range []string{"disarmed", "returning", "brought"} {
		obj, id := y.owned(t, ns, fmt.Sprintf("take-%d", i))
		key, request := client.ObjectKeyFromObject(obj), handover.Request{To: "tofu", Dir: t.TempDir(), Step: always}
		if err := request.HandOver(t.Context(), s, key); err != nil {
			t.Fatal(err)
		}
		request.Step = until(step)
		if err := request.TakeBack(t.Context(), s, key); !errors.Is(err, errEnded) {
			t.Fatalf("%s: %v", step, err)
		}
		y.onlyOneRuns(t, request.Dir, key, step)
		request.Step = always
		if err := request.TakeBack(t.Context(), s, key); err != nil {
			t.Fatalf("%s, and again: %v", step, err)
		}
		y.backAgain(t, obj, id, step)
	}
}

// onlyOneRuns checks that Yuba refuses the stack, whether or not its directory works.
func (y *yuba) onlyOneRuns(t *testing.T, dir string, key types.NamespacedName, when string) {
	t.Helper()
	obj := y.stack(t, key.Namespace, key.Name)
	if moving.Held(obj) == "" || !obj.Spec.Suspend || obj.Spec.DestroyResourcesOnDeletion {
		t.Errorf("after %s: this home may run %s", when, key)
	}
	runs := y.runIDs(t, key.Namespace, key.Name)
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
	y.await(t, obj, when+": it is refused although it is resumed", func(o *infrav1.Terraform) bool {
		return failedWith(infrav1.ReasonMoved)(o) && o.Status.ObservedGeneration == o.Generation
	})
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	if got := y.runIDs(t, key.Namespace, key.Name); !slices.Equal(got, runs) {
		t.Errorf("after %s: %s ran here: %v, had %v", when, key, got, runs)
	}
	left, err := filepath.Glob(filepath.Join(dir, key.Namespace, key.Name))
	if err != nil || len(left) > 0 && slices.Contains([]string{"marked", "quiet", "written"}, when) {
		t.Errorf("after %s: the owner's directory is there already (%v)", when, err)
	}
}

// backAgain checks that only Yuba runs the stack.
func (y *yuba) backAgain(t *testing.T, obj *infrav1.Terraform, id, when string) {
	t.Helper()
	obj = y.await(t, obj, when+": it works here", func(o *infrav1.Terraform) bool {
		return ready(o) && moving.Held(o) == "" && !o.Spec.Suspend && o.Spec.DestroyResourcesOnDeletion
	})
	if got := firstID(t, y.state(t, obj)); got != id {
		t.Errorf("%s: it was created again: %s, was %s", when, got, id)
	}
}

// Values of Secrets are only written if that is asked for, and then for the caller alone.
func TestHandedOverSecrets(t *testing.T) {
	t.Parallel()
	y, ns := readyForHandover(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "word"}, StringData: map[string]string{"name": "hunter2"}}
	y.create(t, secret)
	obj := pushed(ns, "vpc", "code", auto, func(o *infrav1.Terraform) {
		o.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: "word"}}
	})
	y.create(t, obj)
	y.await(t, obj, "it is applied", ready)
	for _, with := range []bool{false, true} {
		dir, args := t.TempDir(), []string{"hand-over", name(obj), "--to", "tofu", "--tool", tofutest.Tofu(t), "--yes", "-o", "json", "--dir"}
		args = append(args, dir)
		if with {
			args = append(args, "--secrets")
		}
		out, _ := y.do(t, args...)
		var answer []struct{ Withheld []string }
		if err := json.Unmarshal([]byte(out), &answer); err != nil || len(answer) != 1 || (len(answer[0].Withheld) == 0) != with {
			t.Errorf("with %v: %v\n%s", with, err, out)
		}
		_, err := os.Stat(filepath.Join(dir, ns, "vpc", "program", "secret.auto.tfvars.json"))
		if (err == nil) != with {
			t.Errorf("with %v: the file of secrets: %v", with, err)
		}
		readme, err := os.ReadFile(filepath.Join(dir, ns, "vpc", "README.md"))
		if err != nil || strings.Contains(string(readme), "hunter2") {
			t.Errorf("with %v: README.md: %v\n%s", with, err, readme)
		}
		y.do(t, "take-back", name(obj), "--yes", "--suspended")
	}
}

// Another owner imports the resources: tofu itself says what it can import.
func TestHandOverToImport(t *testing.T) {
	t.Parallel()
	y, ns := readyForHandover(t)
	obj := inline(ns, "imports", "resource \"terraform_data\" \"plain\" {}\nresource \"terraform_data\" \"input\" { input = \"x\" }\n", auto)
	y.create(t, obj)
	y.await(t, obj, "it is applied", ready)
	dir := t.TempDir()
	args := []string{"hand-over", name(obj), "--to", "import", "--tool", tofutest.Tofu(t), "--yes", "--dir", dir}
	// terraform_data does not read its input: an import would change it.
	if _, news, code := y.run(t, args...); code == 0 || !strings.Contains(news, "would change resources") || !strings.Contains(news, "terraform_data.input") {
		t.Fatalf("an import with changes: %d %s", code, news)
	}
	if h, _ := moving.HandedOver(y.stack(t, ns, "imports")); h.Phase != moving.PhaseLeaving {
		t.Errorf("its mark is %+v", h)
	}
	_, news := y.do(t, append(args, "--leave", "terraform_data.input")...)
	if !strings.Contains(news, "imports 1 resource and changes nothing") {
		t.Errorf("it says: %s", news)
	}
	var all []struct{ Address, ID string }
	text, err := os.ReadFile(filepath.Join(dir, ns, "imports", "resources.json"))
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	if err != nil || len(all) != 2 || all[0].ID == "" {
		t.Errorf("resources.json: %v %s", err, text)
	}
	if _, err := os.Stat(filepath.Join(dir, ns, "imports", "program", "terraform.tfstate")); err == nil {
		t.Error("the new owner got a state")
	}
}
