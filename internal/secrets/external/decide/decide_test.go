// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	externalv1 "github.com/yuba-dev/yuba/api/external/v1"
	"github.com/yuba-dev/yuba/internal/testkit/puretest"
)

var noon = time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)

// fresh are the facts of an object that was read ten minutes ago, every hour.
func fresh(change ...func(*Facts)) Facts {
	f := Facts{Now: noon, Interval: time.Hour, Refreshed: noon.Add(-10 * time.Minute), Synced: "1-a", Version: "1-a", Ready: true, TargetStands: true}
	for _, c := range change {
		c(&f)
	}
	return f
}

func TestDue(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts Facts
		read  bool
		next  time.Duration
	}{
		"fresh":                         {fresh(), false, 50 * time.Minute},
		"never read":                    {fresh(func(f *Facts) { f.Refreshed, f.Synced = time.Time{}, "" }), true, 0},
		"the interval has passed":       {fresh(func(f *Facts) { f.Refreshed = noon.Add(-time.Hour) }), true, 0},
		"the object changed":            {fresh(func(f *Facts) { f.Version = "2-a" }), true, 0},
		"the target is gone":            {fresh(func(f *Facts) { f.TargetStands = false }), true, 0},
		"it failed":                     {fresh(func(f *Facts) { f.Ready = false }), true, 0},
		"once":                          {fresh(func(f *Facts) { f.Policy = externalv1.RefreshCreatedOnce; f.Version = "2-a" }), false, 0},
		"once, and the target is gone":  {fresh(func(f *Facts) { f.Policy = externalv1.RefreshCreatedOnce; f.TargetStands = false }), true, 0},
		"no interval":                   {fresh(func(f *Facts) { f.Interval = 0; f.Version = "2-a" }), false, 0},
		"on change, unchanged":          {fresh(func(f *Facts) { f.Policy = externalv1.RefreshOnChange; f.Refreshed = noon.Add(-9 * time.Hour) }), false, 0},
		"on change, changed":            {fresh(func(f *Facts) { f.Policy = externalv1.RefreshOnChange; f.Version = "2-a" }), true, 0},
		"on change without an interval": {fresh(func(f *Facts) { f.Policy, f.Interval = externalv1.RefreshOnChange, 0; f.Version = "2-a" }), true, 0},
		"immutable":                     {fresh(func(f *Facts) { f.Immutable = true; f.Refreshed = noon.Add(-9 * time.Hour) }), false, 0},
		"a refresh in the future":       {fresh(func(f *Facts) { f.Refreshed = noon.Add(9 * time.Hour) }), true, 0},
	} {
		if got := Due(test.facts); got.Read != test.read || got.Next != test.next || got.Reason == "" {
			t.Errorf("%s: got %+v", sentence, got)
		}
	}
}

func TestLeaves(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts  Facts
		leaves bool
	}{
		"the new target has the values":                 {fresh(), true},
		"it failed":                                     {fresh(func(f *Facts) { f.Ready = false }), false},
		"the new target is gone":                        {fresh(func(f *Facts) { f.TargetStands = false }), false},
		"a refresh of the changed object is due":        {fresh(func(f *Facts) { f.Version = "2-a" }), false},
		"once, and the object has another label":        {fresh(func(f *Facts) { f.Policy = externalv1.RefreshCreatedOnce; f.Version = "1-b" }), true},
		"no interval, and the object has another label": {fresh(func(f *Facts) { f.Interval = 0; f.Version = "1-b" }), true},
		"immutable, and the object has another label":   {fresh(func(f *Facts) { f.Immutable = true; f.Version = "1-b" }), true},
		"on change, and the object has another label":   {fresh(func(f *Facts) { f.Policy = externalv1.RefreshOnChange; f.Version = "1-b" }), false},
		"once, changed, and the new target is gone":     {fresh(func(f *Facts) { f.Policy = externalv1.RefreshCreatedOnce; f.Version = "2-a"; f.TargetStands = false }), false},
	} {
		if got := Leaves(test.facts); got != test.leaves {
			t.Errorf("%s: got %t", sentence, got)
		}
	}
}

func TestFor(t *testing.T) {
	for sentence, test := range map[string]struct {
		target Target
		verb   Verb
		reason string
	}{
		"a new Secret":                      {Target{Creation: "Owner", Deletion: "Retain", Found: true}, Write, externalv1.ReasonSecretSynced},
		"its own Secret":                    {Target{Creation: "Owner", Exists: true, Owner: "a", Ours: true, Found: true}, Write, externalv1.ReasonSecretSynced},
		"somebody else's Secret":            {Target{Creation: "Owner", Exists: true, Owner: "b", Found: true}, Fail, externalv1.ReasonSecretSyncedError},
		"keys for somebody else's Secret":   {Target{Creation: "Merge", Exists: true, Owner: "b", Found: true}, Write, externalv1.ReasonSecretSynced},
		"keys for no Secret":                {Target{Creation: "Merge", Found: true}, Leave, externalv1.ReasonSecretMissing},
		"no Secret is wanted":               {Target{Creation: "None", Found: true}, Leave, externalv1.ReasonSecretSynced},
		"all is gone, and so is the Secret": {Target{Creation: "Owner", Deletion: "Delete", Exists: true, Owner: "a", Ours: true, OurKeys: true}, Delete, externalv1.ReasonSecretDeleted},
		"all is gone from an empty Secret":  {Target{Creation: "Owner", Deletion: "Delete", Exists: true, Owner: "a", Ours: true}, Delete, externalv1.ReasonSecretDeleted},
		"others have keys there":            {Target{Creation: "Owner", Deletion: "Delete", Exists: true, Owner: "a", Ours: true, OurKeys: true, OthersKeys: true}, Clear, externalv1.ReasonSecretDeleted},
		"a Secret that was never written":   {Target{Creation: "Owner", Deletion: "Delete", Exists: true, OthersKeys: true}, Leave, externalv1.ReasonSecretDeleted},
		"all is gone, and keys go":          {Target{Creation: "Owner", Deletion: "Merge", Exists: true, Owner: "a", Ours: true, OurKeys: true}, Clear, externalv1.ReasonSecretDeleted},
		"all is gone from a shared Secret":  {Target{Creation: "Merge", Deletion: "Delete", Exists: true, OurKeys: true}, Clear, externalv1.ReasonSecretDeleted},
		"nothing was ever there":            {Target{Creation: "Owner", Deletion: "Delete"}, Leave, externalv1.ReasonSecretDeleted},
	} {
		if got := For(test.target); got.Verb != test.verb || got.Reason != test.reason || got.Message == "" {
			t.Errorf("%s: got %+v", sentence, got)
		}
	}
}

// Nobody watches a namespace's labels or another namespace's credentials: whatever failed is tried again.
func TestFailuresAreTriedAgain(t *testing.T) {
	for sentence, test := range map[string]struct {
		facts   Facts
		outcome Outcome
		next    time.Duration
	}{
		"done":                        {fresh(), Done, time.Hour},
		"done, on change":             {fresh(func(f *Facts) { f.Policy = externalv1.RefreshOnChange }), Done, 0},
		"a store failed":              {fresh(), Failed, Retry},
		"a store failed, on change":   {fresh(func(f *Facts) { f.Policy = externalv1.RefreshOnChange }), Failed, Retry},
		"a mistake":                   {fresh(), Mistaken, Recheck},
		"a mistake, on change":        {fresh(func(f *Facts) { f.Policy = externalv1.RefreshOnChange }), Mistaken, Recheck},
		"a mistake, every minute":     {fresh(func(f *Facts) { f.Interval = time.Minute }), Mistaken, time.Minute},
		"too late":                    {fresh(), Late, Recheck},
		"too late, every second":      {fresh(func(f *Facts) { f.Interval = time.Second }), Late, Recheck},
		"a mistake, without interval": {fresh(func(f *Facts) { f.Interval = 0 }), Mistaken, Recheck},
	} {
		if got := After(test.facts, test.outcome); got != test.next {
			t.Errorf("%s: again after %s", sentence, got)
		}
	}
}

func TestLaws(t *testing.T) {
	policies := rapid.SampledFrom([]string{"", externalv1.RefreshPeriodic, externalv1.RefreshOnChange, externalv1.RefreshCreatedOnce})
	rapid.Check(t, func(t *rapid.T) {
		f := Facts{Now: noon, Policy: policies.Draw(t, "policy"), Interval: time.Duration(rapid.IntRange(-1, 7200).Draw(t, "interval")) * time.Second,
			Refreshed: noon.Add(time.Duration(rapid.IntRange(-9000, 9000).Draw(t, "refreshed")) * time.Second), Synced: "a", Version: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "version"),
			Ready: rapid.Bool().Draw(t, "ready"), TargetStands: rapid.Bool().Draw(t, "stands"), Immutable: rapid.Bool().Draw(t, "immutable")}
		got := Due(f)
		switch {
		case got.Read && got.Next != 0:
			t.Fatalf("reads and waits: %+v", got)
		case !got.Read && periodic(f) && !f.Immutable && (got.Next <= 0 || got.Next > f.Interval+time.Minute+shortest):
			t.Fatalf("the next check of an interval of %s is after %s", f.Interval, got.Next)
		case f.Ready && f.TargetStands && f.Policy == externalv1.RefreshCreatedOnce && got.Read:
			t.Fatal("read again what is read once")
		}
		d := Target{Creation: rapid.SampledFrom([]string{"Owner", "Orphan", "Merge", "None"}).Draw(t, "creation"), Deletion: rapid.SampledFrom([]string{"Retain", "Delete", "Merge"}).Draw(t, "deletion"),
			Exists: rapid.Bool().Draw(t, "exists"), Found: rapid.Bool().Draw(t, "found")}
		if d.Exists && rapid.Bool().Draw(t, "owned") {
			d.Owner, d.Ours = "x", rapid.Bool().Draw(t, "ours")
		}
		if d.Exists {
			d.OurKeys, d.OthersKeys = rapid.Bool().Draw(t, "our keys"), rapid.Bool().Draw(t, "others' keys")
		}
		switch act := For(d); {
		case act.Verb == Delete && (!d.Ours || d.OthersKeys || d.Found || d.Deletion != "Delete"):
			t.Fatalf("deletes %+v", d)
		case (act.Verb == Write || act.Verb == Clear) && d.Creation == "Owner" && d.Owner != "" && !d.Ours:
			t.Fatalf("writes what somebody else owns: %+v", d)
		case act.Verb == Clear && !d.OurKeys:
			t.Fatalf("clears what it never wrote: %+v", d)
		case act.Verb == Write && !d.Found:
			t.Fatalf("writes without secrets: %+v", d)
		}
	})
}

func TestDecidesAlone(t *testing.T) { puretest.Imports(t, "fmt", "time") }
