// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/tofutest"
)

// The Secret is only where the field says: also when the field changes or is removed, or the stack
// is deleted.
func TestTheOutputsSecretMovesWithTheField(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "moving", "output \"b\" { value = \"2\" }\noutput \"a\" { value = \"1\" }\n", auto, outputsTo("first"))
	y.create(t, obj)
	seen := y.await(t, obj, "it is ready", ready)
	digest := seen.Status.OutputsDigest
	y.awaitEvent(t, obj, "TerraformOutputsWritten: Outputs written.\n2 output(s): a, b")
	for _, line := range y.events(t, obj) {
		if strings.HasPrefix(line, "OutputsWritingFailed") {
			t.Errorf("a write that succeeded is told as %s", line)
		}
	}
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "second", Outputs: []string{"a:alias"}, Labels: map[string]string{"team": "x"}}
	})
	y.await(t, obj, "they are elsewhere", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.OutputsSecret == "second" })
	if y.there(t, secretOf(ns, "first", nil)) {
		t.Error("the Secret before is still there")
	}
	if diff := cmp.Diff(map[string][]byte{"alias": []byte("1")}, y.secret(t, ns, "second")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	change(t, y, obj, func(o *infrav1.Terraform) {
		o.Spec.WriteOutputsToSecret.Labels = map[string]string{"team": "y"}
		o.Spec.WriteOutputsToSecret.Annotations = map[string]string{"note": "z"}
	})
	y.await(t, obj, "its marks follow", func(o *infrav1.Terraform) bool {
		second := secretOf(ns, "second", nil)
		return settled(o) && y.there(t, second) && second.Labels["team"] == "y" && second.Annotations["note"] == "z"
	})
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = "output \"a\" { value = \"3\" }\n" })
	seen = y.await(t, obj, "an output changed", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.OutputsDigest != digest && len(o.Status.AvailableOutputs) == 1
	})
	if digest == "" || seen.Status.OutputsDigest == "" {
		t.Errorf("digests %q and %q", digest, seen.Status.OutputsDigest)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.WriteOutputsToSecret = nil })
	y.await(t, obj, "they are nowhere", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.OutputsSecret == "" })
	if y.there(t, secretOf(ns, "second", nil)) {
		t.Error("the Secret is still there")
	}
	change(t, y, obj, outputsTo("third"))
	y.await(t, obj, "they are written again", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.OutputsSecret == "third" })
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if y.there(t, secretOf(ns, "third", nil)) {
		t.Error("the outputs outlived their stack")
	}
}

// Byte for byte the output of tofu, with types named as by tofu-controller.
func TestTheOutputsSecretHasTheBytesThatTofuPrints(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	const program = `
output "text" { value = "a <b> & \"c\"\n" }
output "number" { value = 10 }
output "truth" { value = true }
output "list" { value = ["eu-1a", "eu-1b"] }
output "object" { value = { b = [1, 2.5], a = { c = null } } }
output "secret" {
  value     = { key = "hunter2" }
  sensitive = true
}
`
	obj := inline(ns, "bytes", program, auto, outputsTo("out"))
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	plain := newPlainTofu(t, y, ns, "bytes", program)
	cmd := exec.CommandContext(context.Background(), tofutest.Tofu(t), "output", "-json")
	cmd.Dir, cmd.Env = plain.dir, plain.env
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var printed map[string]struct{ Type, Value json.RawMessage }
	if err := json.Unmarshal(text, &printed); err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	for name, o := range printed {
		if string(o.Type) == `"string"` {
			var s string
			if err := json.Unmarshal(o.Value, &s); err != nil {
				t.Fatal(err)
			}
			want[name] = []byte(s)
			continue
		}
		want[name], want[name+"__type"] = o.Value, o.Type
	}
	if diff := cmp.Diff(want, y.secret(t, ns, "out")); diff != "" || len(want) != 11 {
		t.Errorf("%d keys (-want +got):\n%s", len(want), diff)
	}
	var secret corev1.Secret
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "out"}, &secret); err != nil {
		t.Fatal(err)
	}
	owner := metav1.GetControllerOf(&secret)
	if owner == nil || owner.Kind != "Terraform" || owner.Name != "bytes" || secret.Type != corev1.SecretTypeOpaque {
		t.Errorf("owner %+v, type %s", owner, secret.Type)
	}
}

// names are the names in an inventory, "type.name".
func names(o *infrav1.Terraform) []string {
	if o.Status.Inventory == nil {
		return nil
	}
	list := []string{}
	for _, e := range o.Status.Inventory.Entries {
		list = append(list, e.Type+"."+e.Name)
	}
	return list
}

func listing(o *infrav1.Terraform) { o.Spec.EnableInventory = true }

func TestTheInventoryFollowsTheState(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "listed", "resource \"terraform_data\" \"b\" { count = 2 }\nresource \"terraform_data\" \"a\" {}\n", auto, listing)
	y.create(t, obj)
	seen := y.await(t, obj, "it is ready", ready)
	if diff := cmp.Diff([]string{"terraform_data.a", "terraform_data.b", "terraform_data.b"}, names(seen)); diff != "" || len(seen.Status.Inventory.Entries[0].Identifier) != 36 {
		t.Errorf("%+v (-want +got):\n%s", seen.Status.Inventory, diff)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = "resource \"terraform_data\" \"a\" {}\n" })
	y.await(t, obj, "it is shorter", func(o *infrav1.Terraform) bool { return ready(o) && len(names(o)) == 1 })
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.EnableInventory = false })
	y.await(t, obj, "it is gone", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Inventory == nil })
	change(t, y, obj, listing)
	y.await(t, obj, "it is back without a run", func(o *infrav1.Terraform) bool { return ready(o) && len(names(o)) == 1 })
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Inline["main.tf"] = "output \"x\" { value = 1 }\n" })
	y.await(t, obj, "it is empty", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.Inventory != nil && len(names(o)) == 0 })
}

// ownBackend keeps a stack's state in a directory beside its module.
func ownBackend(o *infrav1.Terraform) {
	o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: `backend "local" { path = "own/state.tfstate" }`}
}

func TestAStackWithABackendOfItsOwnIsListedAndRead(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	obj := inline(ns, "own", "resource \"terraform_data\" \"a\" { input = 1 }\noutput \"a\" { value = terraform_data.a.output }\n", auto, ownBackend, outputsTo("out"))
	y.create(t, obj)
	seen := y.await(t, obj, "it is ready", ready)
	if seen.Status.OutputsDigest == "" || string(y.secret(t, ns, "out")["a"]) != "1" || seen.Status.Inventory != nil {
		t.Errorf("%+v", seen.Status)
	}
	change(t, y, obj, func(o *infrav1.Terraform) {
		listing(o)
		o.Spec.Inline["main.tf"] = strings.Replace(o.Spec.Inline["main.tf"], "input = 1", "input = 2", 1)
	})
	y.await(t, obj, "it is listed", func(o *infrav1.Terraform) bool {
		return ready(o) && len(names(o)) == 1 && o.Status.OutputsDigest != seen.Status.OutputsDigest
	})
	if got := string(y.secret(t, ns, "out")["a"]); got != "2" {
		t.Errorf("the output is %q", got)
	}
}

// Targets restrict a deletion, too. The state keeps everything else, and an event reports this.
func TestADeletionDestroysItsTargetsOnly(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "targeted", providerHCL+objectHCL("one", "1")+objectHCL("two", "2"), access, auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Targets = []string{"yubatest_object.one"} })
	y.await(t, obj, "it is ready again", ready)
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if left := c.Names(""); !slices.Equal(left, []string{"two"}) {
		t.Errorf("%v is left, want two", left)
	}
	if now := y.addresses(t, obj); !strings.HasPrefix(now, "yubatest_object.two ") || strings.Contains(now, ",") {
		t.Errorf("the state holds %s", now)
	}
	said := y.must(t, "kubectl", "get", "events", "-n", ns, "-o", "jsonpath={.items[*].message}")
	if want := "Destroyed spec.targets only: yubatest_object.one. Other resources stay, and so does the state that lists them: Secret tfstate-default-targeted"; !strings.Contains(said, want) {
		t.Errorf("nobody says %q:\n%s", want, said)
	}
	// The next stack of the name finds the remaining resources.
	next := inline(ns, "targeted", providerHCL, access, auto)
	y.create(t, next)
	y.await(t, next, "its plan waits", heldBack)
}

// A stack that tofu-controller left, with a custom backend: Yuba learns its outputs from tofu, and
// keeps its Secret until then.
func TestOutputsOfAnAdoptedStackWithABackendOfItsOwn(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	address := c.StateAddress("adopted")
	backend := func(o *infrav1.Terraform) {
		o.Spec.BackendConfig = &infrav1.BackendConfigSpec{CustomConfiguration: fmt.Sprintf("backend \"http\" {\n  address = %q\n}\n", address)}
		o.Spec.Env = append(o.Spec.Env, corev1.EnvVar{Name: "TF_HTTP_USERNAME", Value: "yuba"}, fromSecret("TF_HTTP_PASSWORD", "cloud", "token"))
	}
	seed := inline(ns, "seed", chain, access, auto, backend)
	y.create(t, seed)
	y.await(t, seed, "there is a state", ready)
	y.delete(t, seed)
	y.awaitGone(t, seed)

	obj := inline(ns, "adopted", chain, access, backend, outputsTo("out"), listing, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	y.create(t, obj)
	y.await(t, obj, "it is seen", settled)
	secret := secretOf(ns, "out", map[string]string{"last": "as tofu-controller wrote it"})
	secret.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(obj, infrav1.GroupVersion.WithKind(infrav1.Kind))}
	y.create(t, secret)
	before := obj.DeepCopy()
	obj.Status.LastAppliedRevision = "main@sha1:0123456789abcdef0123456789abcdef01234567"
	if err := y.client.Status().Patch(t.Context(), obj, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
	if got := string(y.secret(t, ns, "out")["last"]); got != "as tofu-controller wrote it" {
		t.Errorf("before anything is known it is %q", got)
	}
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = false })
	seen := y.await(t, obj, "its outputs are known", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.OutputsDigest != "" })
	if got := string(y.secret(t, ns, "out")["last"]); got != "last" || seen.Status.Plan.LastApplied != "" || len(names(seen)) != 3 {
		t.Errorf("the output is %q, applied %q, resources %v", got, seen.Status.Plan.LastApplied, names(seen))
	}
	y.delete(t, obj)
	y.awaitGone(t, obj)
	// The same applies to a new stack after a deleted one whose resources stayed.
	again := inline(ns, "again", chain, access, auto, backend, outputsTo("again"))
	y.create(t, again)
	y.await(t, again, "its outputs are known", func(o *infrav1.Terraform) bool { return ready(o) && o.Status.OutputsDigest != "" })
	if got := string(y.secret(t, ns, "again")["last"]); got != "last" {
		t.Errorf("the output is %q", got)
	}
}
