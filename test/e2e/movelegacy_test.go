// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/config/crd"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/testkit/gittest"
)

// publishedKind is the kind Terraform without the fields that only Yuba has, as tofu-controller
// installs it.
func publishedKind(t *testing.T) fs.FS {
	t.Helper()
	const name = "infra.contrib.fluxcd.io_terraforms.yaml"
	text, err := fs.ReadFile(crd.FS, name)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	withoutOurs(document)
	if text, err = yaml.Marshal(document); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(text), "originUID") {
		t.Fatal("fields of Yuba are left")
	}
	return fstest.MapFS{name: &fstest.MapFile{Data: text}}
}

func withoutOurs(value any) {
	switch v := value.(type) {
	case map[string]any:
		if properties, ok := v["properties"].(map[string]any); ok {
			for name, property := range properties {
				p, _ := property.(map[string]any)
				if text, _ := p["description"].(string); strings.HasPrefix(text, "(Yuba)") {
					delete(properties, name)
				}
			}
		}
		delete(v, "x-kubernetes-validations") // they name fields
		for _, inner := range v {
			withoutOurs(inner)
		}
	case []any:
		for _, inner := range v {
			withoutOurs(inner)
		}
	}
}

// startTofuController starts an API as in the cluster of a tofu-controller: its kind, Flux's kinds,
// and no controller that knows Yuba.
func startTofuController(t *testing.T, ns string) *yuba {
	t.Helper()
	return startBare(t, ns, publishedKind(t))
}

// Stacks of a tofu-controller move to Yuba, and back. Their resources are never created again, and a
// plan that it made is never applied.
func TestStacksMoveFromTofuControllerAndBack(t *testing.T) {
	const ns = "team-a"
	old, y := startTofuController(t, ns), alone(t)
	repo := gittest.New(t).Repository(t, "infra")
	repo.Commit(t, "the beginning", gittest.Files{"app/main.tf": greeting})
	old.gitRepository(t, ns, "infra", repo.URL())
	source := &sourcev1.GitRepository{}
	if err := old.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "infra"}, source); err != nil {
		t.Fatal(err)
	}
	source.Status.Artifact = &meta.Artifact{Path: "a.tar.gz", URL: "http://source-controller.flux-system.svc/a.tar.gz", Revision: "main@sha1:" + repo.Head(t),
		Digest: "sha256:" + strings.Repeat("0", 64), LastUpdateTime: metav1.Now()}
	if err := old.client.Status().Update(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{}
	for _, suffix := range []string{"simple", "shared", "pending"} {
		plain := newPlainTofu(t, old, ns, suffix, greeting)
		if suffix == "shared" {
			plain.run("workspace", "new", "prod")
		}
		plain.run("apply", "-auto-approve", "-input=false")
		ids[suffix] = plain.greetingID()
	}
	simple := old.legacy(t, ns, "simple", auto, outputsTo("simple-out"), destroying, func(o *infrav1.Terraform) { o.Spec.WriteOutputsToSecret.Outputs = []string{"greeting"} })
	prod := old.legacy(t, ns, "prod", auto, inState("prod", "shared"))
	pending := old.legacy(t, ns, "pending", func(o *infrav1.Terraform) {
		o.Spec.ApprovePlan, o.Spec.Vars[0].Value.Raw, o.Status.Plan.Pending = legacyPlan, []byte(`"Yuba"`), legacyPlan
	})
	paused := old.legacy(t, ns, "paused", func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	owner := metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Terraform", Name: simple.Name, UID: simple.UID, Controller: ptr.To(true)}
	old.create(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "simple-out", OwnerReferences: []metav1.OwnerReference{owner}}, Data: map[string][]byte{"greeting": []byte("hello world")}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "tfplan-default-simple", Labels: map[string]string{"infra.contrib.fluxcd.io/plan-name": "simple"},
			OwnerReferences: []metav1.OwnerReference{owner}}, Data: map[string][]byte{"tfplan": []byte("binary")}})
	was := old.secrets(t, ns)

	out, news, code := y.run(t, "move", "--from", old.kubeconfig(), "--to", y.dir, "-n", ns, "--yes")
	if code != 5 || !strings.Contains(out, "! "+ns+"/pending: attention") || !strings.Contains(out, "waits for approval") {
		t.Fatalf("the move ended with %d, and did not ask for the approval of the new plan:\n%s%s", code, out, news)
	}
	for _, line := range []string{ns + "/simple: " + steps.PassNoChanges, ns + "/prod: " + steps.PassNoChanges, ns + "/paused: " + steps.PassSuspended} {
		if !strings.Contains(out, line) {
			t.Errorf("the summary lacks %q:\n%s", line, out)
		}
	}
	for _, obj := range []*infrav1.Terraform{simple, prod} {
		seen := y.await(t, obj, "it is ready", ready)
		if seen.Status.Plan.Summary != "+0 ~0 -0" || seen.Status.LastRun.Operation == "apply" {
			t.Errorf("%s planned %s", obj.Name, seen.Status.Plan.Summary)
		}
		suffix := map[string]string{"simple": "simple", "prod": "shared"}[obj.Name]
		if got := firstID(t, y.state(t, obj)); got != ids[suffix] {
			t.Errorf("%s was created again: %s, it was %s", obj.Name, got, ids[suffix])
		}
	}
	if seen := y.stack(t, ns, "pending"); seen.Status.Plan.Approved || seen.Status.Plan.Pending == legacyPlan || firstID(t, y.state(t, seen)) != ids["pending"] {
		t.Errorf("its plan is %+v", seen.Status.Plan)
	}
	now := y.secrets(t, ns)
	delete(was, "tfplan-default-simple")
	if diff := cmp.Diff(was, now); diff != "" {
		t.Errorf("Secrets (-want +got):\n%s", diff)
	}
	copied := old.stack(t, ns, "simple")
	if mark, ok := moving.MovedTo(copied); !ok || !copied.Spec.Suspend || copied.Spec.DestroyResourcesOnDeletion || mark.Before["destroyResourcesOnDeletion"] != true {
		t.Errorf("the copy is not protected: %+v", copied)
	}
	y.do(t, "approve", name(pending), "--wait", "--timeout", "60s")

	// A stack with fields that only Yuba has cannot go there.
	ours := inline(ns, "ours", greeting, variable("name", "x"), auto)
	y.create(t, ours)
	y.await(t, ours, "it is ready", ready)
	if out, _, code := y.run(t, "move", "--from", y.dir, "--to", old.kubeconfig(), "-n", ns, "--yes"); code != 5 || !strings.Contains(out, "does not know its fields spec.inline") {
		t.Errorf("a stack of Yuba's own was moved: %d\n%s", code, out)
	}
	y.delete(t, ours)
	y.awaitGone(t, ours)
	y.do(t, "move", "--from", y.dir, "--to", old.kubeconfig(), "-n", ns, "--yes")
	for _, obj := range []*infrav1.Terraform{simple, prod, pending, paused} {
		back := old.stack(t, ns, obj.Name)
		if back.UID != obj.UID || back.Spec.Suspend != (obj.Name == "paused") || moving.Held(back) != "" || back.Spec.DestroyResourcesOnDeletion != obj.Spec.DestroyResourcesOnDeletion {
			t.Errorf("%s came back as %+v", obj.Name, back)
		}
	}
	if got := firstID(t, old.state(t, old.stack(t, ns, "pending"))); got != ids["pending"] {
		t.Errorf("the state of pending is another: %s, it was %s", got, ids["pending"])
	}
	if string(old.secret(t, ns, "simple-out")["greeting"]) != "hello world" {
		t.Error("the outputs are missing")
	}
}
