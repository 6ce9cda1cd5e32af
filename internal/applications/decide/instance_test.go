// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

func TestDecide(t *testing.T) {
	const approve = "yuba app approve bucket photos plan-1"
	object := func(change func(*decide.Object)) *decide.Object {
		o := &decide.Object{Current: true, Observed: true, Destroys: true, Ready: "True", Applied: true}
		change(o)
		return o
	}
	nothing := func(*decide.Object) {}
	for sentence, test := range map[string]struct {
		facts   decide.Facts
		verb    decide.Verb
		phase   string
		reason  string
		message string
		stalled bool
	}{
		"a new instance: write its object": {facts: decide.Facts{}, verb: decide.Write, phase: "Progressing", reason: "Progressing", message: "It is being created."},
		"an object that differs: write it": {facts: decide.Facts{Kept: true, Object: object(func(o *decide.Object) { o.Current = false })},
			verb: decide.Write, phase: "Progressing", reason: "Progressing", message: "It is being changed."},
		"a ready object: rest": {facts: decide.Facts{Kept: true, Object: object(nothing)}, verb: decide.Rest, phase: "Ready", reason: "Ready", message: "The resources match the spec."},
		"a planned object that is not applied: not ready": {facts: decide.Facts{Kept: true, Object: object(func(o *decide.Object) { o.Applied = false })},
			verb: decide.Rest, phase: "Progressing", reason: "Progressing", message: "It is being created."},
		"an object with an old status: progressing": {facts: decide.Facts{Kept: true, Object: object(func(o *decide.Object) { o.Observed = false })},
			verb: decide.Rest, phase: "Progressing", reason: "Progressing", message: "It is being changed."},
		"a plan waits: say how to approve it": {facts: decide.Facts{Kept: true, Approve: approve, Object: object(func(o *decide.Object) { o.Awaits, o.Changes = "plan-1", "1 to add" })},
			verb: decide.Rest, phase: "AwaitingApproval", reason: "AwaitingApproval", message: "Plan plan-1 waits for approval: 1 to add. Approve it with: " + approve},
		"a failed object: its message": {facts: decide.Facts{Kept: true, Object: object(func(o *decide.Object) { o.Ready, o.Message = "False", "no credentials" })},
			verb: decide.Rest, phase: "Failed", reason: "Failed", message: "no credentials"},
		"a stuck object: stalled": {facts: decide.Facts{Kept: true, Object: object(func(o *decide.Object) { o.Stuck = "no such region" })},
			verb: decide.Rest, phase: "Failed", reason: "Failed", message: "no such region", stalled: true},
		"the definition is invalid: leave the object as it is": {facts: decide.Facts{Kept: true, Definition: "the schema is none", Object: object(func(o *decide.Object) { o.Current = false })},
			verb: decide.Rest, phase: "Pending", reason: "DefinitionNotReady", message: "the schema is none"},
		"a foreign identity: refuse it":               {facts: decide.Facts{Kept: true, Refused: "not allowed"}, verb: decide.Rest, phase: "Failed", reason: "NotAllowed", message: "not allowed", stalled: true},
		"somebody else has the object: touch nothing": {facts: decide.Facts{Holder: "it is another's"}, verb: decide.Rest, phase: "Failed", reason: "NameTaken", message: "it is another's", stalled: true},
		"what its parent uses is not known: wait":     {facts: decide.Facts{Waits: "It is being counted."}, verb: decide.Rest, phase: "Progressing", reason: "Progressing", message: "It is being counted."},
		"no helm controller: wait for it":             {facts: decide.Facts{Missing: "no HelmRelease"}, verb: decide.Rest, phase: "Pending", reason: "BackendMissing", message: "no HelmRelease"},
		"the object was deleted by somebody: create it again later": {facts: decide.Facts{Kept: true, Object: object(func(o *decide.Object) { o.Deleting = true })},
			verb: decide.Rest, phase: "Progressing", reason: "Progressing", message: "Somebody deleted the object behind it. It is created again once that is gone."},
		"a deleted instance: delete its object": {facts: decide.Facts{Deleting: true, Kept: true, Object: object(nothing)}, verb: decide.Delete, phase: "Deleting", reason: "Deleting", message: "Its resources are being destroyed."},
		"a deleted instance whose definition is invalid: delete its object all the same": {facts: decide.Facts{Deleting: true, Kept: true, Definition: "gone", Object: object(nothing)},
			verb: decide.Delete, phase: "Deleting", reason: "Deleting", message: "Its resources are being destroyed."},
		"the destroy failed: say why, and wait": {facts: decide.Facts{Deleting: true, Kept: true, Object: object(func(o *decide.Object) { o.Deleting, o.Ready, o.Message = true, "False", "bucket not empty" })},
			verb: decide.Rest, phase: "Deleting", reason: "Deleting", message: "The deletion is blocked: bucket not empty"},
		"a tenant whose namespace has applications: keep it, and say what must go": {facts: decide.Facts{Deleting: true, Kept: true, Blocked: "it has Bucket photos", Object: object(nothing)},
			verb: decide.Rest, phase: "Deleting", reason: "Deleting", message: "The deletion is blocked: it has Bucket photos", stalled: true},
		"a blocked deletion: say how to force it, and what that means": {facts: decide.Facts{Deleting: true, Kept: true, Abandoning: "yuba kubectl annotate", Object: object(func(o *decide.Object) { o.Deleting, o.Stuck = true, "no such region" })},
			verb: decide.Rest, phase: "Deleting", reason: "Deleting", message: "The deletion is blocked: no such region. Fix that, or leave its resources, which nobody manages then: yuba kubectl annotate", stalled: true},
		"somebody removed the finalizer: add it again": {facts: decide.Facts{Object: object(nothing)}, verb: decide.Keep, phase: "Ready", reason: "Ready", message: "The resources match the spec."},
		"and with an invalid definition, too": {facts: decide.Facts{Definition: "the schema is none", Object: object(nothing)},
			verb: decide.Keep, phase: "Pending", reason: "DefinitionNotReady", message: "the schema is none"},
		"an object that another home has: touch nothing": {facts: decide.Facts{Kept: true, Moved: "moved to prod", Object: object(func(o *decide.Object) { o.Current = false })},
			verb: decide.Rest, phase: "Pending", reason: "Moved", message: "moved to prod"},
		"an object that is arriving: wait for it, and do not take it": {facts: decide.Facts{Kept: true, Moved: "being moved here"}, verb: decide.Rest, phase: "Pending", reason: "Moved", message: "being moved here"},
		"an abandoned instance: tell the object": {facts: decide.Facts{Deleting: true, Kept: true, Abandon: true, Object: object(func(o *decide.Object) { o.Deleting = true })},
			verb: decide.Spare, phase: "Deleting", reason: "Deleting", message: "Its resources are kept."},
		"the object is gone: release":    {facts: decide.Facts{Deleting: true, Kept: true}, verb: decide.Release, phase: "Deleting", reason: "Deleting", message: "Its resources are gone."},
		"others keep a deleted instance": {facts: decide.Facts{Deleting: true}, verb: decide.Rest, phase: "Deleting", reason: "Deleting", message: "Other finalizers keep the object."},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := decide.Instance(test.facts)
			if got.Verb != test.verb || got.Phase != test.phase || got.Reason != test.reason || got.Message != test.message || got.Stalled != test.stalled {
				t.Errorf("decided %+v", got)
			}
		})
	}
}

// TestLaws tries all combinations of facts.
func TestLaws(t *testing.T) {
	texts := []string{"", "why"}
	each := func(bits int, n int) bool { return bits>>n&1 == 1 }
	for bits := range 1 << 17 {
		f := decide.Facts{Deleting: each(bits, 0), Kept: each(bits, 1), Abandon: each(bits, 2), Definition: texts[bits>>3&1], Refused: texts[bits>>4&1],
			Invalid: texts[bits>>5&1], Missing: texts[bits>>6&1], Holder: texts[bits>>7&1], Moved: texts[bits>>14&1], Blocked: texts[bits>>15&1], Waits: texts[bits>>16&1], Approve: "approve"}
		if each(bits, 8) {
			f.Object = &decide.Object{Current: each(bits, 9), Deleting: each(bits, 10), Destroys: each(bits, 11), Observed: each(bits, 12), Awaits: texts[bits>>13&1]}
		}
		before := f
		d := decide.Instance(f)
		switch {
		case d.Verb == decide.Release && (!f.Deleting || f.Object != nil):
			t.Errorf("%+v is released", f)
		case d.Verb == decide.Delete && f.Blocked != "":
			t.Errorf("the namespace of %+v is deleted with what is in it", f)
		case d.Verb == decide.Delete && !f.Deleting:
			t.Errorf("the object of %+v is deleted", f)
		case d.Verb == decide.Write && (f.Deleting || f.Definition+f.Refused+f.Invalid+f.Waits+f.Missing+f.Holder+f.Moved != ""):
			t.Errorf("the object of %+v is written", f)
		case d.Verb == decide.Keep && (f.Deleting || f.Kept || f.Object == nil):
			t.Errorf("%+v is kept", f)
		case !f.Deleting && !f.Kept && f.Object != nil && d.Verb != decide.Keep && d.Verb != decide.Write:
			t.Errorf("%+v does not get its finalizer back", f)
		case d.Phase == "" || d.Reason == "" || d.Message == "" || d.Ready == "":
			t.Errorf("%+v has the standing %+v", f, d)
		case d.Working && d.Stalled:
			t.Errorf("%+v is both working and stalled", f)
		}
		if diff := cmp.Diff(before, f); diff != "" {
			t.Errorf("facts were changed: %s", diff)
		}
	}
}

func TestImports(t *testing.T) { puretest.Imports(t, "fmt", "slices", "strings") }
