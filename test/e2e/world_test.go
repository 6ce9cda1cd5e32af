// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// When the result of a data source changes, the outputs follow.
func TestOutputsFollowWhatADataSourceReads(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	c.Put("theirs", "then")
	obj := inline(ns, "reader", providerHCL+"data \"yubatest_object\" \"theirs\" { name = \"theirs\" }\noutput \"content\" { value = data.yubatest_object.theirs.content }\n",
		access, auto, outputsTo("out"), driftEvery(time.Second))
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	c.Put("theirs", "now")
	seen := y.await(t, obj, "it follows", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.LastAppliedByDriftDetectionAt != nil
	})
	if got := string(y.secret(t, ns, "out")["content"]); got != "now" {
		t.Errorf("the output is %q", got)
	}
	if s := seen.Status.Plan.Summary; s != "+0 ~0 -0" {
		t.Errorf("the summary is %q", s)
	}
}

func TestImportedObjectIsNotMadeAgain(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	c.Put("old", "as it is")
	obj := inline(ns, "importer", providerHCL+"import {\n  to = yubatest_object.old\n  id = \"old\"\n}\n"+objectHCL("old", "as it is"), access)
	y.create(t, obj)
	planned := y.await(t, obj, "its plan waits", waiting)
	approve(t, y, obj)
	y.await(t, obj, "it is ready", func(o *infrav1.Terraform) bool {
		return ready(o) && o.Status.Plan.LastApplied == planned.Status.Plan.Pending
	})
	if n := c.Count(http.MethodPut, "old"); n != 0 {
		t.Errorf("it was written %d times", n)
	}
	if n := y.resources(t, obj); n != 1 {
		t.Errorf("%d resources are in the state", n)
	}
}

// A stack is deleted or suspended in the middle of an apply: Yuba completes and records the apply
// first.
func TestApplyIsFinishedAlthoughTheStackIsDeleted(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	gate := c.Hold(http.MethodPut, "second")
	obj := inline(ns, "deleted", chain, access, auto, destroying)
	y.create(t, obj)
	awaitReached(t, y, gate)
	y.delete(t, obj)
	gate.Release()
	y.awaitGone(t, obj)
	if left := c.Names(""); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
	for _, name := range []string{"first", "second", "last"} {
		if n := c.Count(http.MethodDelete, name); n != 1 {
			t.Errorf("%s was deleted %d times", name, n)
		}
	}
	unlocked(t, y, obj)
}

func TestApplyIsFinishedAlthoughTheStackIsSuspended(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	gate := c.Hold(http.MethodPut, "second")
	obj := inline(ns, "suspended", chain, access, auto, outputsTo("out"))
	y.create(t, obj)
	awaitReached(t, y, gate)
	change(t, y, obj, func(o *infrav1.Terraform) { o.Spec.Suspend = true })
	gate.Release()
	y.await(t, obj, "what it did is recorded", func(o *infrav1.Terraform) bool {
		return settled(o) && o.Status.LastAppliedRevision != ""
	})
	whole(t, y, obj)
}

// Yuba reports a failed destroy, keeps the stack, and retries.
func TestDeletionThatFailsIsToldAndTriedAgain(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "refused", chain, access, auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	c.Fail(http.MethodDelete, "second", http.StatusConflict, "it is in use")
	y.delete(t, obj)
	failed := y.await(t, obj, "it says why it cannot go", failedWith(infrav1.ReasonApplyFailed))
	if m := condition(failed, infrav1.ConditionReady).Message; !containsAll(m, "it is in use") {
		t.Errorf("the message does not tell: %s", m)
	}
	if n := y.resources(t, obj); n != 2 {
		t.Errorf("%d resources are in the state, want 2", n)
	}
	c.Fail(http.MethodDelete, "second", 0, "")
	y.awaitGone(t, obj)
	if left := c.Names(""); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}

// The credentials of a stack may be deleted before it, for instance with all objects of a
// namespace: Yuba uses those of the last apply.
func TestDeletionDestroysAlthoughItsCredentialsAreGone(t *testing.T) {
	t.Parallel()
	y, ns := common(t)
	c, access := cloudy(t, y, ns)
	obj := inline(ns, "orphan", chain, access, auto, destroying)
	y.create(t, obj)
	y.await(t, obj, "it is ready", ready)
	var credentials corev1.Secret
	if err := y.client.Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "cloud"}, &credentials); err != nil {
		t.Fatal(err)
	}
	y.delete(t, &credentials)
	y.delete(t, obj)
	y.awaitGone(t, obj)
	if left := c.Names(""); len(left) != 0 {
		t.Errorf("%v is left", left)
	}
}
