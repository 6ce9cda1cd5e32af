// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// change changes a definition.
func (w *world) change(d *appv1.ApplicationDefinition, f func(*appv1.ApplicationDefinition)) {
	w.Helper()
	w.until("definition "+d.Name+" is changed", func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
			return false, err.Error()
		}
		f(d)
		err := w.Update(context.Background(), d)
		return err == nil, fmt.Sprint(err)
	})
}

// program sets the program of a definition's stacks to another one.
func program(remark string) func(*appv1.ApplicationDefinition) {
	return func(d *appv1.ApplicationDefinition) {
		d.Spec.Backend.Terraform.Inline["remark.tf"] = "# " + remark
	}
}

// has reports whether a stack has a program.
func has(remark string) func(*infrav1.Terraform) bool {
	return func(t *infrav1.Terraform) bool { return t.Spec.Inline["remark.tf"] == "# "+remark }
}

// rollout waits until a rollout is as it should be.
func (w *world) rollout(d *appv1.ApplicationDefinition, revision int64, phase appv1.RolloutPhase, updated int32) *appv1.RolloutStatus {
	w.Helper()
	var r *appv1.RolloutStatus
	w.until(fmt.Sprintf("revision %d of %s is %s with %d", revision, d.Name, phase, updated), func() (bool, string) {
		if err := w.Get(context.Background(), client.ObjectKeyFromObject(d), d); err != nil {
			return false, err.Error()
		}
		r = d.Status.Rollout
		return r != nil && r.Revision == revision && r.Phase == phase && r.Updated == updated, fmt.Sprintf("%+v", r)
	})
	return r
}

// holders are the names of instances whose stacks have a program.
func (w *world) holders(prefix, remark string) (names []string) {
	w.Helper()
	var list infrav1.TerraformList
	if err := w.List(context.Background(), &list, client.InNamespace(w.namespace)); err != nil {
		w.Fatal(err)
	}
	for i := range list.Items {
		if name, ok := strings.CutPrefix(list.Items[i].Name, prefix); ok && has(remark)(&list.Items[i]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// fill makes ready instances of a kind, with a limit for the rollouts of their definition.
func (w *world) fill(kind string, limit intstr.IntOrString, names ...string) *appv1.ApplicationDefinition {
	w.Helper()
	d := w.define(kind, bucketYAML)
	w.change(d, func(d *appv1.ApplicationDefinition) { d.Spec.Rollout = &appv1.Rollout{MaxUnavailable: &limit} })
	for _, name := range names {
		w.make(kind, name, map[string]any{"bucketName": name})
	}
	for _, name := range names {
		w.apply(strings.ToLower(kind)+"-"+name, map[string]string{"endpoint": name}, "endpoint")
		w.await(kind, name, appv1.PhaseReady)
	}
	w.rollout(d, 1, appv1.RolloutComplete, int32(len(names))) //nolint:gosec // few
	return d
}

func (w *world) well(stack string) {
	w.Helper()
	w.play(stack, func(t *infrav1.Terraform) { ready(t, metav1.ConditionTrue, "Applied") })
}

// told waits for an event about a definition.
func (w *world) told(d *appv1.ApplicationDefinition, reason string) string {
	w.Helper()
	note := ""
	w.until("the event "+reason, func() (bool, string) {
		var list eventsv1.EventList
		if err := w.List(context.Background(), &list); err != nil {
			return false, err.Error()
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == d.Name && e.Reason == reason {
				note = e.Note
			}
		}
		return note != "", ""
	})
	return note
}

func TestAChangeReachesInstancesInWaves(t *testing.T) {
	w := newWorld(t)
	d := w.fill("Goblet", intstr.FromInt32(2), "a", "b", "c", "d", "e")
	w.change(d, program("second"))
	if r := w.rollout(d, 2, appv1.RolloutInProgress, 2); r.BaseRevision != 1 || r.Total != 5 {
		t.Errorf("the rollout is %+v", r)
	}
	w.until("two have the change", func() (bool, string) {
		got := w.holders("goblet-", "second")
		return slices.Equal(got, []string{"a", "b"}), fmt.Sprint(got)
	})
	if note := w.told(d, appv1.ReasonRolloutBegan); note != "Revision 2 begins to reach its instances, at most 2 at a time. It changes 5 of 5" {
		t.Errorf("the event says %q", note)
	}
	w.until("an instance says that it waits", func() (bool, string) {
		_, s := w.status("Goblet", "e")
		return s.Definition != nil && *s.Definition == appv1.InstanceDefinition{Revision: 1, Waiting: 2}, fmt.Sprintf("%+v", s.Definition)
	})
	// A new instance has the new one.
	w.make("Goblet", "new", map[string]any{"bucketName": "new"})
	w.stack("goblet-new", has("second"))
	w.well("goblet-a")
	w.stack("goblet-c", has("second"))
	w.play("goblet-b", func(t *infrav1.Terraform) { ready(t, metav1.ConditionFalse, "no credentials") })
	w.well("goblet-c")
	r := w.rollout(d, 2, appv1.RolloutFailed, 4)
	if want := []string{w.namespace + "/b"}; !slices.Equal(r.Failed, want) || !strings.Contains(r.Message, "paused, because these have failed") {
		t.Errorf("the rollout is %+v", r)
	}
	if note := w.told(d, appv1.ReasonRolloutFailed); !strings.Contains(note, w.namespace+"/b") {
		t.Errorf("the event says %q", note)
	}
	// A user's change does not wait, and does not bring the new program.
	if _, err := w.resource("Goblet").Patch(context.Background(), "e", types.MergePatchType, []byte(`{"spec":{"size":7}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.stack("goblet-e", func(t *infrav1.Terraform) bool {
		return string(t.Spec.Vars[1].Value.Raw) == "7" && t.Spec.Inline["remark.tf"] == ""
	})
	w.well("goblet-e")
	// An instance that has the new program keeps it when its user changes it.
	if _, err := w.resource("Goblet").Patch(context.Background(), "a", types.MergePatchType, []byte(`{"spec":{"size":8}}`), metav1.PatchOptions{}); err != nil {
		t.Fatal(err)
	}
	w.stack("goblet-a", has("second"), func(t *infrav1.Terraform) bool { return string(t.Spec.Vars[1].Value.Raw) == "8" })
	for _, name := range []string{"a", "b", "d", "e"} {
		w.stack("goblet-"+name, has("second"))
		w.well("goblet-" + name)
	}
	w.rollout(d, 2, appv1.RolloutComplete, 6)
	w.told(d, appv1.ReasonRolloutResumed)
	w.told(d, appv1.ReasonRolloutComplete)
	w.await("Goblet", "e", appv1.PhaseReady)
	if _, s := w.status("Goblet", "e"); s.Definition == nil || *s.Definition != (appv1.InstanceDefinition{Revision: 2}) {
		t.Errorf("the instance follows %+v", s.Definition)
	}
}

func TestAPausedRolloutAndTheWayBack(t *testing.T) {
	w := newWorld(t)
	d := w.fill("Bowl", intstr.FromString("40%"), "a", "b", "c", "d", "e")
	w.change(d, func(d *appv1.ApplicationDefinition) {
		program("second")(d)
		d.Spec.Rollout.Paused = true
	})
	w.rollout(d, 2, appv1.RolloutPaused, 0)
	w.change(d, func(d *appv1.ApplicationDefinition) { d.Spec.Rollout.Paused = false })
	w.rollout(d, 2, appv1.RolloutInProgress, 2)
	w.well("bowl-a")
	w.rollout(d, 2, appv1.RolloutInProgress, 3)
	w.play("bowl-b", func(t *infrav1.Terraform) { ready(t, metav1.ConditionFalse, "no credentials") })
	w.rollout(d, 2, appv1.RolloutFailed, 3)
	untouched := w.stack("bowl-e")
	// The way back is a change like any other: those on their way first, and no more than two at a time.
	w.change(d, func(d *appv1.ApplicationDefinition) { delete(d.Spec.Backend.Terraform.Inline, "remark.tf") })
	w.rollout(d, 3, appv1.RolloutInProgress, 4)
	w.until("only one keeps the second program", func() (bool, string) {
		got := w.holders("bowl-", "second")
		return slices.Equal(got, []string{"a"}), fmt.Sprint(got)
	})
	w.well("bowl-b")
	w.stack("bowl-a", func(t *infrav1.Terraform) bool { return t.Spec.Inline["remark.tf"] == "" })
	w.well("bowl-a")
	w.well("bowl-c")
	w.rollout(d, 3, appv1.RolloutComplete, 5)
	if now := w.stack("bowl-e"); now.ResourceVersion != untouched.ResourceVersion {
		t.Errorf("an instance without the change was written: %+v", now.ObjectMeta)
	}
}

// TestAChangeThatAltersNothingWritesNothing counts on versions, which every write changes.
func TestAChangeThatAltersNothingWritesNothing(t *testing.T) {
	w := newWorld(t)
	d := w.fill("Tray", intstr.FromInt32(1), "a", "b", "c")
	var before []string
	versions := func() (list []string) {
		for _, name := range []string{"a", "b", "c"} {
			o, _ := w.status("Tray", name)
			list = append(list, o.GetResourceVersion(), w.stack("tray-"+name).ResourceVersion)
		}
		return list
	}
	before = versions()
	w.change(d, func(d *appv1.ApplicationDefinition) {
		d.Spec.Application.OpenAPISchema = strings.Replace(d.Spec.Application.OpenAPISchema, `{"type":"string"}`, `{"type":"string","description":"The name."}`, 1)
	})
	w.rollout(d, 2, appv1.RolloutComplete, 3)
	w.until("the kind has the revision", func() (bool, string) {
		return w.ledger("trays")[appv1.AnnotationRollout] != "" && strings.Contains(w.ledger("trays")[appv1.AnnotationRollout], `"base":2,"target":2`), fmt.Sprint(w.ledger("trays"))
	})
	// A later instance is a sign that the passes before it are over.
	w.make("Tray", "later", map[string]any{"bucketName": "later"})
	w.stack("tray-later")
	if now := versions(); !slices.Equal(now, before) {
		t.Errorf("versions before and after: %v, %v", before, now)
	}
}

// ledger are the annotations of a kind.
func (w *world) ledger(plural string) map[string]string {
	w.Helper()
	o, err := w.objects.Resource(apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")).Get(context.Background(), plural+"."+appv1.InstanceVersion.Group, metav1.GetOptions{})
	if err != nil {
		w.Fatal(err)
	}
	return o.GetAnnotations()
}

func TestNewDefaultsWaitForTheirTurn(t *testing.T) {
	w := newWorld(t)
	d := w.fill("Hamper", intstr.FromInt32(1), "a", "b")
	// The schema of the second has a default for a field that both know.
	w.change(d, func(d *appv1.ApplicationDefinition) {
		d.Spec.Application.OpenAPISchema = `{"type":"object","properties":{"bucketName":{"type":"string"},"size":{"type":"integer","default":3},"tier":{"type":"string"}},"required":["bucketName"]}`
		d.Spec.Backend.Terraform.Inline["tier.tf"] = "variable \"tier\" {\n  type    = string\n  default = null\n}"
	})
	w.stack("hamper-a", func(t *infrav1.Terraform) bool { return t.Spec.Inline["tier.tf"] != "" })
	w.well("hamper-a")
	w.stack("hamper-b", func(t *infrav1.Terraform) bool { return t.Spec.Inline["tier.tf"] != "" })
	w.well("hamper-b")
	w.rollout(d, 2, appv1.RolloutComplete, 2)
	w.change(d, func(d *appv1.ApplicationDefinition) {
		d.Spec.Application.OpenAPISchema = strings.Replace(d.Spec.Application.OpenAPISchema, `"tier":{"type":"string"}`, `"tier":{"type":"string","default":"hot"}`, 1)
	})
	w.stack("hamper-a", func(t *infrav1.Terraform) bool { return len(t.Spec.Vars) == 3 })
	w.until("the other one waits", func() (bool, string) {
		_, s := w.status("Hamper", "b")
		return s.Definition != nil && s.Definition.Waiting == 3, fmt.Sprintf("%+v", s.Definition)
	})
	if vars := w.stack("hamper-b").Spec.Vars; len(vars) != 2 {
		t.Errorf("it has the variables %+v before its turn", vars)
	}
	w.well("hamper-a")
	w.stack("hamper-b", func(t *infrav1.Terraform) bool { return len(t.Spec.Vars) == 3 })
}

func TestWithoutALimitAllChangeAtOnce(t *testing.T) {
	w := newWorld(t)
	d := w.define("Plate", bucketYAML)
	for _, name := range []string{"a", "b", "c"} {
		w.make("Plate", name, map[string]any{"bucketName": name}, func(o *unstructured.Unstructured) { o.SetLabels(map[string]string{"n": name}) })
		w.apply("plate-"+name, map[string]string{"endpoint": name}, "endpoint")
		w.await("Plate", name, appv1.PhaseReady)
	}
	w.change(d, program("second"))
	for _, name := range []string{"a", "b", "c"} {
		w.stack("plate-"+name, has("second"))
	}
	w.rollout(d, 2, appv1.RolloutInProgress, 3)
	w.well("plate-a")
	w.well("plate-b")
	w.play("plate-c", func(t *infrav1.Terraform) { ready(t, metav1.ConditionFalse, "no credentials") })
	w.rollout(d, 2, appv1.RolloutComplete, 3)
}

func TestADefinitionThatIsTooLargeForWaves(t *testing.T) {
	w := newWorld(t)
	d := w.define("Hull", bucketYAML)
	w.awaitDefinition(d, appv1.ReasonServed)
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // any text that cannot be compressed
	noise := func(d *appv1.ApplicationDefinition) {
		var b strings.Builder
		for b.Len() < 280<<10 {
			fmt.Fprintf(&b, "# %016x\n", random.Uint64())
		}
		d.Spec.Backend.Terraform.Inline["noise.tf"] = b.String()
	}
	w.change(d, noise)
	w.awaitDefinition(d, appv1.ReasonServed)
	w.change(d, func(d *appv1.ApplicationDefinition) {
		noise(d)
		d.Spec.Rollout = &appv1.Rollout{MaxUnavailable: new(intstr.FromInt32(1))}
	})
	if message := w.awaitDefinition(d, appv1.ReasonInvalid); !strings.Contains(message, "too large to be rolled out") {
		t.Errorf("the message is %q", message)
	}
	w.change(d, func(d *appv1.ApplicationDefinition) { d.Spec.Rollout = nil })
	w.awaitDefinition(d, appv1.ReasonServed)
	w.change(d, noise)
	w.awaitDefinition(d, appv1.ReasonServed)
	w.rollout(d, 4, appv1.RolloutComplete, 0)
}
