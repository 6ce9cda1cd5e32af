// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// plainTofu is a directory in which plain tofu uses the kubernetes backend.
type plainTofu struct {
	t   *testing.T
	dir string
	env []string
}

func newPlainTofu(t *testing.T, y *yuba, namespace, suffix, program string) *plainTofu {
	t.Helper()
	p := &plainTofu{t: t, dir: t.TempDir()}
	backend := fmt.Sprintf("terraform {\n  backend \"kubernetes\" {\n    secret_suffix = %q\n    namespace = %q\n    config_path = %q\n  }\n}\n", suffix, namespace, y.kubeconfig())
	for name, content := range map[string]string{"main.tf": program, "backend.tf": backend} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + p.dir, "TF_IN_AUTOMATION=1", "TF_VAR_name=world"}
	p.run("init", "-input=false")
	return p
}

func (p *plainTofu) run(args ...string) string {
	p.t.Helper()
	cmd := exec.Command(tofutest.Tofu(p.t), args...)
	var out, errs bytes.Buffer
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = p.dir, p.env, &out, &errs
	if err := cmd.Run(); err != nil {
		p.t.Fatalf("tofu %v: %v\n%s%s", args, err, out.String(), errs.String())
	}
	return out.String()
}

// A stack adopts a state of plain tofu without a change, in two workspaces, and plain tofu can use
// it again afterwards.
func TestStateOfPlainTofuIsAdoptedAndReadBack(t *testing.T) {
	y, ns := common(t)
	plain := newPlainTofu(t, y, ns, "adopted", greeting)
	ids := map[string]string{}
	for _, workspace := range []string{"default", "prod"} {
		if workspace != "default" {
			plain.run("workspace", "new", workspace)
		}
		plain.run("apply", "-auto-approve", "-input=false")
		ids[workspace] = plain.greetingID()
	}
	for _, workspace := range []string{"default", "prod"} {
		obj := inline(ns, "adopted-"+workspace, greeting, variable("name", "world"), auto, outputsTo("of-"+workspace), func(o *infrav1.Terraform) {
			o.Spec.Workspace = workspace
			o.Spec.BackendConfig = &infrav1.BackendConfigSpec{SecretSuffix: "adopted", InClusterConfig: true}
		})
		before := y.secret(t, ns, "tfstate-"+workspace+"-adopted")
		y.create(t, obj)
		seen := y.await(t, obj, "it is ready", ready)
		if seen.Status.Plan.Summary != "+0 ~0 -0" || seen.Status.LastAppliedRevision != "" {
			t.Errorf("%s: the adoption planned %s and applied %q", workspace, seen.Status.Plan.Summary, seen.Status.LastAppliedRevision)
		}
		// The outputs are written even without a change.
		if got := string(y.secret(t, ns, "of-"+workspace)["greeting"]); got != "hello world" {
			t.Errorf("%s: the outputs Secret says %q", workspace, got)
		}
		if diff := cmp.Diff(before, y.secret(t, ns, "tfstate-"+workspace+"-adopted")); diff != "" {
			t.Errorf("%s: adopting changed the state:\n%s", workspace, diff)
		}
		change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Vars[0].Value.Raw = []byte(`"Yuba"`) })
		y.await(t, obj, "its change is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != "" })
	}
	for _, workspace := range []string{"default", "prod"} {
		plain.run("workspace", "select", workspace)
		if id := plain.greetingID(); id != ids[workspace] {
			t.Errorf("%s: the resource is now %s, want %s", workspace, id, ids[workspace])
		}
		if got := plain.run("output", "-raw", "greeting"); got != "hello Yuba" {
			t.Errorf("%s: plain tofu reads %q", workspace, got)
		}
		plain.env[3] = "TF_VAR_name=Yuba"
		plain.run("plan", "-input=false", "-detailed-exitcode") // fails when it finds changes
	}
}

func (p *plainTofu) greetingID() string {
	p.t.Helper()
	var state struct {
		Values struct {
			Root struct {
				Resources []struct{ Values struct{ ID string } }
			} `json:"root_module"`
		}
	}
	if err := json.Unmarshal([]byte(p.run("show", "-json")), &state); err != nil {
		p.t.Fatal(err)
	}
	if len(state.Values.Root.Resources) != 1 {
		p.t.Fatalf("the state has %d resources", len(state.Values.Root.Resources))
	}
	return state.Values.Root.Resources[0].Values.ID
}

// While a run of Yuba holds the lock, plain tofu is refused, with the name of the holder.
func TestPlainTofuIsKeptOutDuringAnApply(t *testing.T) {
	y, ns := common(t)
	obj := inline(ns, "gated", gated, auto)
	plain := newPlainTofu(t, y, ns, "gated", gated)
	y.create(t, obj)
	reached, open := y.gate(obj)
	awaitFile(t, reached)
	cmd := exec.Command(tofutest.Tofu(t), "apply", "-auto-approve", "-input=false")
	cmd.Dir, cmd.Env = plain.dir, plain.env
	out, err := cmd.CombinedOutput()
	if err == nil || !bytes.Contains(out, []byte("Error acquiring the state lock")) || !bytes.Contains(out, []byte("yuba run ")) {
		t.Errorf("plain tofu was not kept out: %v\n%s", err, out)
	}
	touch(t, open)
	y.await(t, obj, "it is ready", ready)
	if got := plain.run("state", "list"); got != "terraform_data.first\nterraform_data.gate\nterraform_data.last\n" {
		t.Errorf("plain tofu lists %q", got)
	}
}
