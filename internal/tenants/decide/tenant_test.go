// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// object is an existing object, up to date and ready.
func object(id string, changes ...func(*Object)) Object {
	o := Object{ID: id, Name: "ConfigMap a/" + id, Skips: true, Waits: true, Timeout: 5 * time.Minute,
		Live: Live{Exists: true, Ours: true, Marked: true, AsLeft: true, SameManifest: true, Ready: true}}
	for _, change := range changes {
		change(&o)
	}
	return o
}

func absent(o *Object)  { o.Live = Live{} }
func changed(o *Object) { o.Live.AsLeft, o.Live.SameManifest = false, false }
func drifted(o *Object) { o.Live.AsLeft = false }
func unready(o *Object) { o.Live.Ready, o.Live.Message, o.Live.Since = false, "soon", now }
func once(o *Object)    { o.Once, o.Live.OnceDone = true, o.Live.Exists }
func foreign(o *Object) { o.Live.Ours, o.Live.Owner, o.Live.AsLeft = false, "Tenant b/other", false }
func broken(o *Object)  { o.Broken = "no such variable" }

func needs(ids ...string) func(*Object) {
	return func(o *Object) {
		for _, id := range ids {
			o.Needs = append(o.Needs, Need{ID: id, Ready: true})
		}
	}
}

func TestOneObject(t *testing.T) {
	conflicting := "ConfigMap a/x belongs to Tenant b/other. Rename it, release it there, or take it over with conflictPolicy: Force"
	for sentence, c := range map[string]struct {
		object Object
		want   ObjectDecision
	}{
		"as it should be: leave it":          {object("x"), ObjectDecision{Verb: VerbLeave, Ready: true}},
		"not there: make it":                 {object("x", absent), ObjectDecision{Verb: VerbCreate}},
		"its manifest has changed: write it": {object("x", changed), ObjectDecision{Verb: VerbWrite}},
		"somebody has changed it: write it":  {object("x", drifted), ObjectDecision{Verb: VerbWrite}},
		"it belongs to nobody: write it": {
			object("x", foreign, func(o *Object) { o.Live.Owner = "" }), ObjectDecision{Verb: VerbWrite}},
		"it belongs to somebody else: a conflict": {
			object("x", foreign), ObjectDecision{Verb: VerbConflict, Owner: "Tenant b/other", Message: conflicting}},
		"it belongs to somebody else, and is to be taken over: write it": {
			object("x", foreign, func(o *Object) { o.Force = true }), ObjectDecision{Verb: VerbWrite}},
		"it was taken over by somebody: it is not taken back. Give it another name, or delete it: then it is made again": {
			object("x", foreign, func(o *Object) { o.Force, o.Live.Lost = true, true }),
			ObjectDecision{Verb: VerbConflict, Owner: "Tenant b/other", Message: "ConfigMap a/x has been taken over by Tenant b/other, and Yuba does not take it back. Rename it, or delete it to have it created again"}},
		"it was taken over by nobody knows whom": {
			object("x", foreign, func(o *Object) { o.Live.Owner, o.Live.Lost = "", true }),
			ObjectDecision{Verb: VerbConflict, Owner: "somebody else", Message: "ConfigMap a/x has been taken over by somebody else, and Yuba does not take it back. Rename it, or delete it to have it created again"}},
		"made once, and there: leave it":                       {object("x", once, changed), ObjectDecision{Verb: VerbLeave, Ready: true}},
		"made once, and not there: make it":                    {object("x", once, absent), ObjectDecision{Verb: VerbCreate}},
		"made once, and not ready: leave it":                   {object("x", once, unready), ObjectDecision{Verb: VerbLeave, Message: "soon", NextCheck: now.Add(5 * time.Minute)}},
		"made before it was to be made once: mark it":          {object("x", changed, func(o *Object) { o.Once = true }), ObjectDecision{Verb: VerbAdopt}},
		"made once, and kept when its tenant went: adopt it":   {object("x", once, func(o *Object) { o.Live.Ours, o.Live.Marked = false, false }), ObjectDecision{Verb: VerbAdopt}},
		"made once, of somebody else, to be taken over: adopt": {object("x", once, foreign, func(o *Object) { o.Force = true }), ObjectDecision{Verb: VerbAdopt}},
		"there, of nobody, and to be made once: write it":      {object("x", foreign, func(o *Object) { o.Once, o.Live.Owner = true, "" }), ObjectDecision{Verb: VerbWrite}},
		"being deleted: wait": {
			object("x", func(o *Object) { o.Live.Deleting = true }), ObjectDecision{Verb: VerbWait, Message: "the previous object is being deleted"}},
		"without a manifest: leave what is there": {object("x", broken), ObjectDecision{Verb: VerbBroken, Message: "no such variable"}},
		"refused: not again before its time": {
			object("x", absent, func(o *Object) { o.Refused = "quota" }), ObjectDecision{Verb: VerbRefused, Message: "quota"}},
		"refused, and as it should be all the same": {
			object("x", func(o *Object) { o.Refused = "quota" }), ObjectDecision{Verb: VerbLeave, Ready: true}},
		"not ready yet": {object("x", unready), ObjectDecision{Verb: VerbLeave, Message: "soon", NextCheck: now.Add(5 * time.Minute)}},
		"not ready in time": {
			object("x", unready, func(o *Object) { o.Live.Since = ago(5 * time.Minute) }),
			ObjectDecision{Verb: VerbTimeout, Message: "ConfigMap a/x is not ready after 5m0s: soon"}},
		"not ready in time, and its manifest has changed: write it": {
			object("x", unready, changed, func(o *Object) { o.Live.Since = ago(time.Hour) }), ObjectDecision{Verb: VerbWrite}},
		"ready at last": {object("x", func(o *Object) { o.Live.Since = ago(time.Hour) }), ObjectDecision{Verb: VerbLeave, Ready: true}},
		"failed":        {object("x", unready, func(o *Object) { o.Live.Failed = true }), ObjectDecision{Verb: VerbFailed, Message: "soon"}},
		"nobody waits for it": {
			object("x", unready, func(o *Object) { o.Waits = false }), ObjectDecision{Verb: VerbLeave, Ready: true}},
		"it needs what there is not": {
			object("x", absent, needs("y")), ObjectDecision{Verb: VerbBroken, Message: `it depends on "y", which is not in the template`}},
		"it needs itself": {
			object("x", absent, needs("x")), ObjectDecision{Verb: VerbBroken, Message: `it depends on "x", which in turn depends on it`}},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.want.ID = "x"
			d := Tenant(TenantFacts{Now: now, Objects: []Object{c.object}})
			if diff := cmp.Diff([]ObjectDecision{c.want}, d.Objects, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
			if !d.NextCheck.Equal(c.want.NextCheck) || d.Writes != c.want.Verb.Writes() {
				t.Errorf("next check %s, writes %v", d.NextCheck, d.Writes)
			}
		})
	}
}

func TestWhatDependsOnEachOther(t *testing.T) {
	verbs := func(d TenantDecision) map[string]Verb {
		all := map[string]Verb{}
		for _, o := range d.Objects {
			all[o.ID] = o.Verb
		}
		return all
	}
	keeps := func(o *Object) { o.Skips = false }
	for sentence, c := range map[string]struct {
		objects []Object
		want    map[string]Verb
	}{
		"two that need nothing are made at once": {
			[]Object{object("a", absent), object("b", absent)}, map[string]Verb{"a": VerbCreate, "b": VerbCreate}},
		"what is needed is not there: wait": {
			[]Object{object("a", absent), object("b", absent, needs("a")), object("c", absent, needs("b"))},
			map[string]Verb{"a": VerbCreate, "b": VerbWait, "c": VerbWait}},
		"what is needed is ready: make it": {
			[]Object{object("a"), object("b", absent, needs("a"))}, map[string]Verb{"a": VerbLeave, "b": VerbCreate}},
		"what is needed is not ready: wait": {
			[]Object{object("a", unready), object("b", absent, needs("a"))}, map[string]Verb{"a": VerbLeave, "b": VerbWait}},
		"what is needed has only to be there": {
			[]Object{object("a", unready), object("b", absent, func(o *Object) { o.Needs = []Need{{ID: "a"}} })},
			map[string]Verb{"a": VerbLeave, "b": VerbCreate}},
		"what is needed is to be changed first": {
			[]Object{object("a", changed), object("b", changed, needs("a"))}, map[string]Verb{"a": VerbWrite, "b": VerbWait}},
		"what is as it should be stays, whatever it needs": {
			[]Object{object("a", absent), object("b", needs("a"))}, map[string]Verb{"a": VerbCreate, "b": VerbLeave}},
		"what somebody has changed is put right, whatever it needs": {
			[]Object{object("a", unready), object("b", drifted, needs("a"))}, map[string]Verb{"a": VerbLeave, "b": VerbWrite}},
		"what is needed has failed: leave it out, and what needs that": {
			[]Object{object("a", broken), object("b", absent, needs("a")), object("c", absent, needs("b"))},
			map[string]Verb{"a": VerbBroken, "b": VerbSkip, "c": VerbSkip}},
		"what is needed has failed, and that does not matter": {
			[]Object{object("a", broken), object("b", absent, needs("a"), keeps)}, map[string]Verb{"a": VerbBroken, "b": VerbCreate}},
		"one that is needed has failed and does not matter, another one is not ready": {
			[]Object{object("a", broken), object("b", unready), object("c", absent, needs("a", "b"), keeps)},
			map[string]Verb{"a": VerbBroken, "b": VerbLeave, "c": VerbWait}},
		"what is needed belongs to somebody else": {
			[]Object{object("a", foreign), object("b", absent, needs("a"))}, map[string]Verb{"a": VerbConflict, "b": VerbSkip}},
		"a failure leaves others alone": {
			[]Object{object("a", broken), object("b", absent)}, map[string]Verb{"a": VerbBroken, "b": VerbCreate}},
		"the order of the list does not matter": {
			[]Object{object("c", absent, needs("b")), object("b", absent, needs("a")), object("a", broken)},
			map[string]Verb{"a": VerbBroken, "b": VerbSkip, "c": VerbSkip}},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, verbs(Tenant(TenantFacts{Now: now, Objects: c.objects}))); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHowATenantStands(t *testing.T) {
	healthy := Condition{Reason: ReasonHealthy, Message: "no object has failed"}
	alone := Condition{Reason: ReasonNoConflict, Message: "no object has another owner"}
	still := Condition{Reason: ReasonReconcileComplete, Message: "nothing is in progress"}
	for sentence, c := range map[string]struct {
		facts TenantFacts
		want  TenantDecision
	}{
		"no objects": {TenantFacts{}, TenantDecision{
			Ready: Condition{True: true, Reason: ReasonReconciled, Message: "the template has no objects"}, Progressing: still, Conflict: alone, Degraded: healthy}},
		"all are ready": {TenantFacts{Objects: []Object{object("a"), object("b")}}, TenantDecision{Desired: 2, ReadyCount: 2,
			Ready: Condition{True: true, Reason: ReasonReconciled, Message: "all 2 objects are ready"}, Progressing: still, Conflict: alone, Degraded: healthy}},
		"some are being made, others wait": {
			TenantFacts{Objects: []Object{object("a", absent), object("b", absent, needs("a")), object("c")}}, TenantDecision{Desired: 3, ReadyCount: 1, Writes: true,
				Ready:       Condition{Reason: ReasonNotAllResourcesReady, Message: "1 of 3 objects are ready; waiting: b (for a); not ready yet: a"},
				Progressing: Condition{True: true, Reason: ReasonReconciling, Message: "1 of 3 objects are ready; waiting: b (for a); not ready yet: a"},
				Conflict:    alone, Degraded: healthy}},
		"one has failed, and another is left out": {
			TenantFacts{Objects: []Object{object("a", broken), object("b", absent, needs("a"))}}, TenantDecision{Desired: 2, Failed: 1, Skipped: 1,
				Ready:       Condition{Reason: ReasonResourcesFailed, Message: "0 of 2 objects are ready; failed: a (no such variable); skipped: b"},
				Progressing: still, Conflict: alone,
				Degraded: Condition{True: true, Reason: ReasonResourceFailures, Message: "0 of 2 objects are ready; failed: a (no such variable); skipped: b"}}},
		"one belongs to somebody else": {
			TenantFacts{Objects: []Object{object("a", foreign), object("b")}}, TenantDecision{Desired: 2, ReadyCount: 1, Failed: 1, Conflicted: 1,
				Ready:       Condition{Reason: ReasonResourcesConflicted, Message: "1 of 2 objects are ready; of other owners: a (Tenant b/other)"},
				Progressing: still,
				Conflict:    Condition{True: true, Reason: ReasonResourceConflict, Message: "these have another owner: a (Tenant b/other)"},
				Degraded:    Condition{True: true, Reason: ReasonResourceConflicts, Message: "1 of 2 objects are ready; of other owners: a (Tenant b/other)"}}},
		"one has failed, and one belongs to somebody else": {
			TenantFacts{Objects: []Object{object("a", foreign), object("b", broken)}}, TenantDecision{Desired: 2, Failed: 2, Conflicted: 1,
				Ready:       Condition{Reason: ReasonResourcesFailedAndConflicted, Message: "0 of 2 objects are ready; failed: b (no such variable); of other owners: a (Tenant b/other)"},
				Progressing: still,
				Conflict:    Condition{True: true, Reason: ReasonResourceConflict, Message: "these have another owner: a (Tenant b/other)"},
				Degraded:    Condition{True: true, Reason: ReasonResourceFailuresAndConflicts, Message: "0 of 2 objects are ready; failed: b (no such variable); of other owners: a (Tenant b/other)"}}},
		"its registry is gone": {
			TenantFacts{Objects: []Object{object("a")}, RegistryGone: "shop"}, TenantDecision{Desired: 1, ReadyCount: 1,
				Ready: Condition{Reason: ReasonRegistryGone, Message: "its object is ready; the registry shop no longer exists, so the tenant stays unchanged, whatever its row is. " +
					"Create the registry again, or delete the tenant"},
				Progressing: still, Conflict: alone, Degraded: healthy}},
	} {
		t.Run(sentence, func(t *testing.T) {
			c.facts.Now = now
			if diff := cmp.Diff(c.want, Tenant(c.facts), cmpopts.IgnoreFields(TenantDecision{}, "Objects")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
