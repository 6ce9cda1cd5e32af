// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// made is an object of a tenant.
func made(id string, changes ...func(*Made)) Made {
	m := Made{Key: "v1/ConfigMap/a/" + id, ID: id, Name: "ConfigMap a/" + id, Exists: true, Ours: true}
	for _, change := range changes {
		change(&m)
	}
	return m
}

func retained(m *Made) { m.Retain = true }
func leaving(m *Made)  { m.Deleting = true }
func gone(m *Made)     { m.Exists = false }
func robbed(m *Made)   { m.Ours = false }

func after(ids ...string) func(*Made) { return func(m *Made) { m.Needs = ids } }

func TestDeletion(t *testing.T) {
	type verbs map[string]GoingVerb
	for sentence, c := range map[string]struct {
		objects []Made
		want    verbs
	}{
		"nothing":                             {nil, verbs{}},
		"what needs nothing goes at once":     {[]Made{made("a"), made("b")}, verbs{"a": GoingDelete, "b": GoingDelete}},
		"what needs another goes before it":   {[]Made{made("a"), made("b", after("a")), made("c", after("b"))}, verbs{"a": GoingWait, "b": GoingWait, "c": GoingDelete}},
		"while it is going, the other waits":  {[]Made{made("a"), made("b", after("a"), leaving)}, verbs{"a": GoingWait, "b": GoingWait}},
		"when it is gone, the other goes":     {[]Made{made("a"), made("b", after("a"), gone)}, verbs{"a": GoingDelete, "b": GoingForget}},
		"somebody else's is left alone":       {[]Made{made("a"), made("b", after("a"), robbed)}, verbs{"a": GoingDelete, "b": GoingForget}},
		"what is retained holds up nobody":    {[]Made{made("a"), made("b", after("a"), retained)}, verbs{"a": GoingDelete, "b": GoingRetain}},
		"what is retained is never deleted":   {[]Made{made("a", retained), made("b", after("a"))}, verbs{"a": GoingRetain, "b": GoingDelete}},
		"what is retained and has been taken": {[]Made{made("a", retained, robbed)}, verbs{"a": GoingForget}},
		"somebody deletes what is retained":   {[]Made{made("a", retained, leaving)}, verbs{"a": GoingWait}},
		"what is refused is waited for": {
			[]Made{made("a"), made("b", after("a"), func(m *Made) { m.Refused = "forbidden" })}, verbs{"a": GoingWait, "b": GoingRefused}},
		"a circle goes from its end": {
			[]Made{made("a", after("c")), made("b", after("a")), made("c", after("b"))}, verbs{"a": GoingWait, "b": GoingWait, "c": GoingDelete}},
		"two objects of one id wait for each other's users": {
			[]Made{made("a"), made("a", func(m *Made) { m.Key = "other" }), made("b", after("a"))}, verbs{"a": GoingWait, "b": GoingDelete}},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := Deletion(c.objects)
			got := verbs{}
			for _, o := range d.Objects {
				got[o.ID] = o.Verb
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestWordsOfADeletion(t *testing.T) {
	d := Deletion([]Made{made("a"), made("b", after("a")), made("c", gone)})
	want := DeletionDecision{
		Objects: []ObjectGoing{
			{Key: "v1/ConfigMap/a/a", ID: "a", Verb: GoingWait, For: []string{"b"}, Message: "ConfigMap a/a is removed after b"},
			{Key: "v1/ConfigMap/a/b", ID: "b", Verb: GoingDelete},
			{Key: "v1/ConfigMap/a/c", ID: "c", Verb: GoingForget},
		},
		Message: "2 objects have to go: ConfigMap a/a, ConfigMap a/b",
	}
	if diff := cmp.Diff(want, d, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	d = Deletion([]Made{made("a", func(m *Made) { m.Deleting, m.Finalizers = true, []string{"x/y"} }),
		made("b", func(m *Made) { m.Deleting, m.Stays, m.Finalizers = true, "Plan error", []string{"x/y"} }),
		made("c", func(m *Made) { m.Refused = "forbidden" })})
	if want := "ConfigMap a/a is being deleted: it waits for its finalizers x/y"; d.Objects[0].Message != want {
		t.Errorf("a says %q, want %q", d.Objects[0].Message, want)
	}
	if d.Objects[1].Message != "ConfigMap a/b is being deleted: Plan error" || d.Cause != d.Objects[1].Message {
		t.Errorf("the cause is %q, and b says %q", d.Cause, d.Objects[1].Message)
	}
	if d := Deletion([]Made{made("a", func(m *Made) { m.Deleting, m.Finalizers = true, []string{"x/y"} })}); d.Cause != d.Objects[0].Message {
		t.Errorf("the cause is %q", d.Cause)
	}
	if d := Deletion([]Made{made("c", func(m *Made) { m.Refused = "forbidden" })}); d.Cause != "forbidden" {
		t.Errorf("the cause is %q", d.Cause)
	}
	if d := Deletion([]Made{made("c", gone), made("d", robbed)}); !d.Done || d.Message != "" {
		t.Errorf("with nothing left: %+v", d)
	}
}

func TestLawsOfDeletion(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var objects []Made
		ids := []string{"a", "b", "c", "d", "e"}
		for _, id := range ids {
			m := made(id)
			m.Retain = rapid.IntRange(0, 3).Draw(t, "retain") == 0
			m.Exists = rapid.IntRange(0, 5).Draw(t, "gone") > 0
			m.Ours = rapid.IntRange(0, 5).Draw(t, "robbed") > 0
			m.Deleting = rapid.IntRange(0, 5).Draw(t, "deleting") == 0
			m.Needs = slices.Compact(slices.Sorted(slices.Values(rapid.SliceOfN(rapid.SampledFrom(ids), 0, 2).Draw(t, "needs"))))
			objects = append(objects, m)
		}
		for range len(objects) + 1 {
			d := Deletion(objects)
			progress := d.Done
			for i, o := range d.Objects {
				m := objects[i]
				switch o.Verb {
				case GoingDelete:
					if m.Retain || !m.Ours || !m.Exists || m.Deleting {
						t.Fatalf("%+v is deleted", m)
					}
					progress, objects[i].Deleting = true, true
				case GoingRetain:
					if !m.Retain || !m.Ours || m.Deleting {
						t.Fatalf("%+v is retained", m)
					}
					progress, objects[i].Ours = true, false
				case GoingWait:
					if m.Deleting {
						// Objects under deletion disappear eventually.
						progress, objects[i].Exists = true, false
					}
				}
			}
			if !progress {
				t.Fatalf("nothing moves any more: %+v", d)
			}
		}
		for range 2 * len(objects) {
			for i, o := range Deletion(objects).Objects {
				switch o.Verb {
				case GoingDelete, GoingWait:
					objects[i].Exists = o.Verb == GoingWait && !objects[i].Deleting
				case GoingRetain:
					objects[i].Ours = false
				}
			}
		}
		if d := Deletion(objects); !d.Done {
			t.Fatalf("it has no end: %+v", d)
		}
	})
}
