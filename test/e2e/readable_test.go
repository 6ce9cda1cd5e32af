// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

func storing(form string) func(*infrav1.Terraform) {
	return func(obj *infrav1.Terraform) { obj.Spec.StoreReadablePlan = form }
}

// there reports whether an object exists.
func (y *yuba) there(t *testing.T, obj client.Object) bool {
	t.Helper()
	err := y.client.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
	if err != nil && !apierrors.IsNotFound(err) {
		t.Fatal(err)
	}
	return err == nil
}

// readable is the document in a plan's Secret.
func (y *yuba) readable(t *testing.T, namespace, name string) map[string]any {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(y.secret(t, namespace, name)["tfplan"]))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	var document map[string]any
	if err := json.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	return document
}

func TestThePlanForPeopleIsInAConfigMap(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "human", "output \"hello_world\" {\n  value = \"Hello, World!\"\n}\n", storing("human"))
	y.create(t, obj)
	seen := y.await(t, obj, "its plan waits", waiting)
	var stored corev1.ConfigMap
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "tfplan-default-human"}, &stored); err != nil {
		t.Fatal(err)
	}
	const want = `
Changes to Outputs:
  + hello_world = "Hello, World!"

You can apply this plan to save these new output values to the OpenTofu
state, without changing any real infrastructure.
`
	if diff := cmp.Diff(map[string]string{"tfplan": want}, stored.Data); diff != "" || stored.Annotations["savedPlan"] != seen.Status.Plan.Pending {
		t.Errorf("annotations %v (-want +got):\n%s", stored.Annotations, diff)
	}
	var binary corev1.Secret
	binary.Namespace, binary.Name = ns, "tfplan-default-human"
	if y.there(t, &binary) {
		t.Error("the plan itself is in a Secret")
	}
}

// The readable plan follows the field and the workspace.
func TestReadablePlansComeAndGo(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	y.create(t, secretOf(ns, "password", map[string]string{"password": "hunter2-of-the-secret"}))
	obj := inline(ns, "forms", `
variable "password" {}
resource "terraform_data" "a" { input = [var.password, sensitive("hunter3-of-the-program"), "open"] }
`, varsFrom("Secret", "password"), storing("human"))
	y.create(t, obj)
	y.await(t, obj, "its plan waits", waiting)
	human := configMap(ns, "tfplan-default-forms", nil)
	if !y.there(t, human) || !strings.Contains(human.Data["tfplan"], "# terraform_data.a will be created") || strings.Contains(human.Data["tfplan"], "hunter") {
		t.Fatalf("%q", human.Data)
	}
	change(t, y, obj, storing("json"))
	y.await(t, obj, "it is stored as JSON", func(o *infrav1.Terraform) bool { return waiting(o) && o.Status.Plan.Readable == "json" })
	document := y.readable(t, ns, "tfplan-default-forms.json")
	text, _ := json.Marshal(document["resource_changes"]) //nolint:errcheck // it was JSON
	if y.there(t, human) || document["format_version"] == nil || !strings.Contains(string(text), `"terraform_data.a"`) || strings.Contains(string(text), "hunter") {
		t.Errorf("the ConfigMap is there: %v; %s", y.there(t, human), text)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.ApprovePlan = infrav1.ApprovePlanAuto })
	seen := y.await(t, obj, "it is ready", ready)
	if seen.Status.Plan.Readable != "json" {
		t.Errorf("readable: %q", seen.Status.Plan.Readable)
	}
	// A plan without changes is stored, too.
	change(t, y, obj, storing("human"))
	y.await(t, obj, "it is stored for people", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.Readable == "human" })
	secret := secretOf(ns, "tfplan-default-forms.json", nil)
	if !y.there(t, human) || !strings.Contains(human.Data["tfplan"], "No changes.") || y.there(t, secret) {
		t.Errorf("%q", human.Data)
	}
	change(t, y, obj, storing("none"))
	y.await(t, obj, "nothing is stored", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.Readable == "" })
	if y.there(t, human) {
		t.Error("the ConfigMap is still there")
	}
	change(t, y, obj, storing("json"))
	y.await(t, obj, "it is stored as JSON", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Plan.Readable == "json" })
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if y.there(t, secret) {
		t.Error("the plan outlived its stack")
	}
}

func TestAReadablePlanOverwritesNothingOfOthers(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	theirs := configMap(ns, "tfplan-default-mine", map[string]string{"tfplan": "theirs"})
	y.create(t, theirs)
	obj := inline(ns, "mine", `output "x" { value = 1 }`, storing("human"))
	y.create(t, obj)
	y.await(t, obj, "its plan waits", waiting)
	y.awaitEvent(t, obj, "it exists and belongs to something else")
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if !y.there(t, theirs) || theirs.Data["tfplan"] != "theirs" {
		t.Errorf("%v", theirs.Data)
	}
}
