// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"encoding/json"
	"maps"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// why is the output of `yuba why`.
func (y *yuba) why(t *testing.T, obj *infrav1.Terraform) run.Why {
	t.Helper()
	out, _ := y.do(t, "why", name(obj), "-o", "json")
	var why run.Why
	if err := json.Unmarshal([]byte(out), &why); err != nil {
		t.Fatalf("yuba why printed %q: %v", out, err)
	}
	return why
}

// lookedAt waits until the stack was reconciled after a time, and returns the explanation.
func (y *yuba) lookedAt(t *testing.T, obj *infrav1.Terraform, since time.Time) run.Why {
	t.Helper()
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if why := y.why(t, obj); why.Looked != nil && why.Looked.At.After(since) && why.LastRun != nil && why.LastRun.Outcome != "" {
			return why
		}
	}
	t.Fatalf("%s: nobody looks at it", name(obj))
	return run.Why{}
}

// monorepo is a source with three stacks, two of which share a module.
func monorepo() map[string]string {
	stack := "module \"m\" {\n  source = \"../../modules/m\"\n}\n"
	return map[string]string{
		"stacks/a/main.tf": stack, "stacks/b/main.tf": stack, "stacks/c/main.tf": "resource \"terraform_data\" \"c\" {\n  input = file(\"c.txt\")\n}\n",
		"stacks/c/c.txt": "one", "modules/m/main.tf": "resource \"terraform_data\" \"m\" {\n  input = \"one\"\n}\n", "README.md": "one",
	}
}

func TestACommitRunsOnlyTheStacksThatItTouches(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	files := monorepo()
	y.push(t, ns, "live", files)
	at := func(path string) func(*infrav1.Terraform) {
		return func(o *infrav1.Terraform) { o.Spec.Path = path }
	}
	a, b := pushed(ns, "a", "live", auto, at("./stacks/a")), pushed(ns, "b", "live", auto, at("./stacks/b"))
	c := pushed(ns, "c", "live", at("./stacks/c"))
	y.create(t, a, b, c)
	a, b = y.await(t, a, "it is ready", ready), y.await(t, b, "it is ready", ready)
	planned := func(o *infrav1.Terraform) bool { return o.Status.Plan.Pending != "" && o.Status.CurrentRun == nil }
	c = y.await(t, c, "it has a plan", planned)

	// A commit that touches one of them.
	pushedAt := time.Now()
	files["stacks/b/main.tf"] += "resource \"terraform_data\" \"b\" {}\n"
	y.push(t, ns, "live", files)
	old := a.Status.LastAppliedRevision
	b = y.await(t, b, "the new revision is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != old })
	why := y.lookedAt(t, a, pushedAt)
	if len(why.Changes) != 1 || !why.Changes[0].Untouched || !why.Proof.Unchanged || strings.Join(why.Proof.Dirs, " ") != "modules/m stacks/a" {
		t.Errorf("why a: %+v, %+v", why.Changes, why.Proof)
	}
	is := y.await(t, a, "it is there", func(*infrav1.Terraform) bool { return true })
	if is.ResourceVersion != a.ResourceVersion || is.Status.LastAppliedRevision != old {
		t.Errorf("a commit beside it changed a from %s to %s: %+v", a.ResourceVersion, is.ResourceVersion, is.Status)
	}

	// The other stack's plan is still valid, and is applied with the source it was made from.
	y.lookedAt(t, c, pushedAt)
	y.do(t, "approve", name(c), c.Status.Plan.Pending)
	c = y.await(t, c, "its plan is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != "" })
	if c.Status.LastAppliedRevision != old || c.Status.LastAppliedArtifact.Digest != a.Status.LastAppliedArtifact.Digest {
		t.Errorf("c was applied at %s, its plan was made at %s", c.Status.LastAppliedRevision, old)
	}

	// A commit that touches a module runs the stacks that call it.
	lastC := c.Status.LastRun.ID
	files["modules/m/main.tf"] = strings.ReplaceAll(files["modules/m/main.tf"], "one", "two")
	pushedAt = time.Now()
	y.push(t, ns, "live", maps.Clone(files))
	newer := b.Status.LastAppliedRevision
	for _, obj := range []*infrav1.Terraform{a, b} {
		y.await(t, obj, "the module's revision is applied", func(o *infrav1.Terraform) bool {
			return ready(o) && o.Status.LastAppliedRevision != old && o.Status.LastAppliedRevision != newer
		})
		last := y.lookedAt(t, obj, pushedAt).LastRun
		if len(last.Changes) != 1 || len(last.Changes[0].Files) == 0 || last.Changes[0].Files[0] != (run.FileChange{Name: "modules/m/main.tf", Change: "changed"}) {
			t.Errorf("why %s: its last run: %+v", obj.Name, last)
		}
	}
	if why := y.lookedAt(t, c, pushedAt); why.LastRun.ID != lastC {
		t.Errorf("a commit beside c ran it: %+v", why.LastRun)
	}
}

func TestWhyNamesTheInputThatChanged(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "s"}, StringData: map[string]string{"password": "s3cr3t-one"}}
	settings := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "settings"}, Data: map[string]string{"size": "3"}}
	y.create(t, secret, settings)
	obj := inline(ns, "app", "variable \"size\" {}\nvariable \"password\" {\n  sensitive = true\n}\nresource \"terraform_data\" \"a\" {\n  input = var.size\n}\n", auto,
		varsFrom("ConfigMap", "settings"), varsFrom("Secret", "s"))
	y.create(t, obj)
	first := y.await(t, obj, "it is ready", ready).Status.LastRun.ID
	if why := y.why(t, obj); why.Decision.Verb != "rest" || len(why.Changes) != 0 || !why.Proof.Unchanged || why.Planned.ID != first {
		t.Errorf("at rest: %+v, %+v", why.Decision, why)
	}

	settings.Data["size"] = "4"
	secret.StringData = map[string]string{"password": "s3cr3t-two"}
	if err := y.client.Update(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	y.await(t, obj, "the value is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastRun.ID != first && o.Status.CurrentRun == nil
	})
	last := y.why(t, obj).LastRun
	if len(last.Changes) != 1 || last.Changes[0].Name != "size" || last.Changes[0].From != `"3"` || last.Changes[0].To != `"4"` {
		t.Errorf("%+v", last)
	}
	// Nothing runs while it is suspended, but `yuba why` shows the changes, except for secrets.
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	if err := y.client.Update(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
	out, _ := y.do(t, "why", name(obj))
	if !containsAll(out, "Suspended by spec.suspend", "variable password: changed (secret), from Secret "+ns+"/s, key password") || strings.Contains(out, "s3cr3t") {
		t.Errorf("yuba why printed:\n%s", out)
	}
}

// A module named by a commit is as good as one in the source: a commit that does not touch the
// stack runs nothing.
func TestACommitBesideAModuleFromElsewhereRunsNothing(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	server := gittest.New(t)
	modules := server.Repository(t, "modules")
	commit := modules.Commit(t, "first", gittest.Files{
		"m/main.tf": "resource \"terraform_data\" \"m\" {\n  input = file(\"${path.module}/m.txt\")\n}\n", "m/m.txt": "one",
		"reads/main.tf": "resource \"terraform_data\" \"m\" {\n  input = file(\"${path.root}/../b/b.txt\")\n}\n"})
	calling := func(dir, ref string) string {
		return "module \"far\" {\n  source = \"git::" + modules.URL() + "//" + dir + "?ref=" + ref + "\"\n}\n"
	}
	files := map[string]string{
		"stacks/fixed/main.tf": calling("m", commit), "stacks/waits/main.tf": calling("m", commit), "stacks/branch/main.tf": calling("m", "main"),
		"stacks/reads/main.tf": calling("reads", commit), "stacks/b/main.tf": "", "stacks/b/b.txt": "one",
	}
	y.push(t, ns, "live", files)
	at := func(name string, change ...func(*infrav1.Terraform)) *infrav1.Terraform {
		return pushed(ns, name, "live", append(change, func(o *infrav1.Terraform) { o.Spec.Path = "./stacks/" + name })...)
	}
	fixed, waits, branch, reads := at("fixed", auto), at("waits"), at("branch", auto), at("reads", auto)
	y.create(t, fixed, waits, branch, reads)
	fixed, branch, reads = y.await(t, fixed, "it is ready", ready), y.await(t, branch, "it is ready", ready), y.await(t, reads, "it is ready", ready)
	waits = y.await(t, waits, "it has a plan", func(o *infrav1.Terraform) bool { return o.Status.Plan.Pending != "" && o.Status.CurrentRun == nil })
	if m := fixed.Status.Modules; m == nil || m.Moves != "" || m.Whole != "" {
		t.Fatalf("%+v", m)
	}

	// A commit elsewhere in the source runs only stacks that may read something different now.
	before, pushedAt := server.Counts("modules"), time.Now()
	old := fixed.Status.LastAppliedRevision
	files["stacks/b/b.txt"] = "two"
	y.push(t, ns, "live", files)
	moved := func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastPlannedRevision != old && o.Status.CurrentRun == nil
	}
	branch = y.await(t, branch, "the new revision is known", moved)
	reads = y.await(t, reads, "the new revision is applied", func(o *infrav1.Terraform) bool { return moved(o) && o.Status.LastAppliedRevision != old })
	why := y.lookedAt(t, fixed, pushedAt)
	if !why.Proof.Unchanged || strings.Join(why.Proof.Dirs, " ") != "stacks/fixed" || why.Proof.World != "" || len(why.Changes) != 1 || !why.Changes[0].Untouched {
		t.Errorf("why fixed: %+v, %+v", why.Changes, why.Proof)
	}
	is := y.await(t, fixed, "it is there", func(*infrav1.Terraform) bool { return true })
	if is.ResourceVersion != fixed.ResourceVersion || why.LastRun.ID != fixed.Status.LastRun.ID || why.LastRun.Passes != 0 {
		t.Errorf("a commit beside it changed it from %s to %s, and ran %+v", fixed.ResourceVersion, is.ResourceVersion, why.LastRun)
	}
	if now := server.Counts("modules"); now.Clones != before.Clones {
		t.Errorf("cloned again: %+v, %+v", before, now)
	}
	if why := y.why(t, branch); !strings.Contains(why.Proof.Whole, "far is not pinned to a commit or version") {
		t.Errorf("why branch: %+v", why.Proof)
	}
	if log, _ := y.do(t, "logs", name(branch)); !strings.Contains(log, "There is nothing to plan") || branch.Status.LastAppliedRevision != old {
		t.Errorf("branch was planned, applied %s:\n%s", branch.Status.LastAppliedRevision, log)
	}
	if why := y.why(t, reads); !strings.Contains(why.Proof.Whole, ".terraform/modules/far/reads/main.tf:2") {
		t.Errorf("why reads: %+v", why.Proof)
	}

	// A pending plan is still valid, and is applied with the files it was made from.
	y.lookedAt(t, waits, pushedAt)
	y.do(t, "approve", name(waits), waits.Status.Plan.Pending)
	waits = y.await(t, waits, "its plan is applied", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.LastAppliedRevision != "" })
	if waits.Status.LastAppliedRevision != old {
		t.Errorf("it was applied at %s, its plan was made at %s", waits.Status.LastAppliedRevision, old)
	}
	if log, _ := y.do(t, "logs", name(waits), "--run", waits.Status.LastAppliedRun); !strings.Contains(log, "Init: nothing has changed since the last one") {
		t.Errorf("its apply logged:\n%s", log)
	}

	// When a branch moved, the next commit plans and applies the stack, whatever it touches.
	modules.Commit(t, "second", gittest.Files{"m/m.txt": "two"})
	files["stacks/b/b.txt"] = "three"
	y.push(t, ns, "live", files)
	y.await(t, branch, "the branch's module is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedRevision != old && o.Status.CurrentRun == nil
	})

	// A change of its own files runs it.
	files["stacks/fixed/more.tf"] = "resource \"terraform_data\" \"more\" {}\n"
	y.push(t, ns, "live", maps.Clone(files))
	y.await(t, fixed, "its own change is applied", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedRevision != old && o.Status.Modules != nil && o.Status.Modules.ConfigDigest == o.Status.ConfigDigest
	})
}
