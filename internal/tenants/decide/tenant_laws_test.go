// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func drawLive(t *rapid.T) Live {
	if rapid.IntRange(0, 2).Draw(t, "exists") == 0 {
		return Live{}
	}
	rarely := func(what string) bool { return rapid.IntRange(0, 5).Draw(t, what) == 0 }
	l := Live{Exists: true, Deleting: rarely("deleting"), Ours: !rarely("foreign"), Lost: rarely("lost"), OnceDone: rapid.Bool().Draw(t, "once done"),
		Marked: !rarely("unmarked"), AsLeft: rapid.Bool().Draw(t, "as left"), Ready: rapid.Bool().Draw(t, "ready"), Failed: rarely("failed"),
		Since: rapid.SampledFrom([]time.Time{{}, ago(time.Minute), ago(time.Hour)}).Draw(t, "since")}
	l.SameManifest = l.AsLeft || rapid.Bool().Draw(t, "same manifest")
	if l.Ours {
		l.Lost = false
	} else if rapid.Bool().Draw(t, "owned") {
		l.Owner = "somebody"
	}
	return l
}

func drawObjects(t *rapid.T) []Object {
	var objects []Object
	for i := range rapid.IntRange(0, 6).Draw(t, "objects") {
		o := Object{ID: string(rune('a' + i)), Once: rapid.IntRange(0, 2).Draw(t, "once") == 0, Force: rapid.Bool().Draw(t, "force"),
			Skips: rapid.Bool().Draw(t, "skips"), Waits: rapid.Bool().Draw(t, "waits"),
			Timeout: rapid.SampledFrom([]time.Duration{0, 5 * time.Minute}).Draw(t, "timeout"), Live: drawLive(t)}
		o.Name = o.ID
		o.Broken = rapid.SampledFrom([]string{"", "", "", "", "no"}).Draw(t, "broken")
		o.Refused = rapid.SampledFrom([]string{"", "", "", "", "no"}).Draw(t, "refused")
		for j := range i {
			if rapid.IntRange(0, 2).Draw(t, "needs") == 0 {
				o.Needs = append(o.Needs, Need{ID: string(rune('a' + j)), Ready: rapid.Bool().Draw(t, "needs ready")})
			}
		}
		objects = append(objects, o)
	}
	return objects
}

func TestLawsOfTenants(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := TenantFacts{Now: now, Objects: drawObjects(t)}
		d := Tenant(f)
		if !cmp.Equal(d, Tenant(f)) {
			t.Fatal("the same facts lead to something else")
		}
		if len(d.Objects) != len(f.Objects) || d.Desired != len(f.Objects) || d.ReadyCount+d.Failed+d.Skipped > d.Desired || d.Conflicted > d.Failed {
			t.Fatalf("the numbers are wrong: %+v", d)
		}
		if d.Ready.True != (d.ReadyCount == d.Desired) {
			t.Fatalf("ready is %+v with %d of %d", d.Ready, d.ReadyCount, d.Desired)
		}
		if !d.NextCheck.IsZero() && !d.NextCheck.After(now) {
			t.Fatalf("next check at %s", d.NextCheck)
		}
		for i, o := range f.Objects {
			if broken := objectLaw(f, d, o, d.Objects[i]); broken != "" {
				t.Fatalf("%s\nobject %+v\ndecision %+v", broken, o, d.Objects[i])
			}
		}
		// The order of the list does not change the decision.
		slices.Reverse(f.Objects)
		again := Tenant(f)
		slices.Reverse(again.Objects)
		if diff := cmp.Diff(d.Objects, again.Objects); diff != "" {
			t.Fatalf("the order matters:\n%s", diff)
		}
	})
}

// objectLaw names the law that a decision breaks.
func objectLaw(f TenantFacts, d TenantDecision, o Object, od ObjectDecision) string {
	l := o.Live
	switch {
	case od.ID != o.ID:
		return "it is about another one"
	case o.Once && l.Exists && l.OnceDone && (od.Verb == VerbWrite || od.Verb == VerbCreate):
		return "what was made once is written again"
	case od.Verb == VerbCreate && l.Exists:
		return "what is there is made"
	case od.Verb.Writes() && (o.Broken != "" || l.Exists && l.Deleting):
		return "there is nothing to write"
	case od.Verb.Writes() && l.Exists && !l.Ours && (l.Lost || l.Owner != "" && !o.Force):
		return "somebody else's is written"
	case od.Verb.Writes() && l.Exists && l.Ours && l.AsLeft && !o.Once:
		return "what is as it was left is written"
	case od.Ready && (!l.Exists || l.Deleting || !l.Ours || od.Verb != VerbLeave):
		return "it counts as ready and is not there as it should be"
	case od.Verb.Fails() && od.Message == "" && od.Verb != VerbFailed:
		return "nobody knows why it has failed"
	}
	if od.Verb != VerbCreate && (od.Verb != VerbWrite || l.SameManifest) {
		return ""
	}
	for _, n := range o.Needs {
		i := slices.IndexFunc(f.Objects, func(x Object) bool { return x.ID == n.ID })
		needed, nd := f.Objects[i], d.Objects[i]
		if nd.Verb.Fails() || nd.Verb == VerbSkip {
			if o.Skips {
				return "it is made although " + n.ID + " has failed"
			}
			continue
		}
		if nd.Verb != VerbLeave || n.Ready && !needed.Live.Ready {
			return "it is made before " + n.ID + " is ready"
		}
	}
	return ""
}

// The objects become as decided, and ready.
func TestATenantThatNothingStandsInTheWayOfBecomesReady(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := drawObjects(t)
		for i := range objects {
			o := &objects[i]
			o.Broken, o.Refused, o.Force, o.Live.Failed, o.Live.Deleting, o.Live.Lost = "", "", true, false, false, false
		}
		for range len(objects) + 1 {
			d := Tenant(TenantFacts{Now: now, Objects: objects})
			for i, od := range d.Objects {
				o := &objects[i]
				if od.Verb.Writes() {
					o.Live = Live{Exists: true, Ours: true, Marked: true, OnceDone: o.Once, AsLeft: true, SameManifest: true}
				}
				if od.Verb.Writes() || od.Verb == VerbLeave || od.Verb == VerbTimeout {
					o.Live.Ready = true
				}
			}
		}
		if d := Tenant(TenantFacts{Now: now, Objects: objects}); !d.Ready.True || d.Writes {
			t.Fatalf("it does not: %+v", d)
		}
	})
}
