// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// settled are the facts of a registry with n active rows, one template, and a current tenant for
// each row.
func settled(n int, changes ...func(*RegistryFacts)) RegistryFacts {
	f := RegistryFacts{Now: now, Reading: ReadingGood, Fresh: true, MaxDelete: 10, Templates: []Template{{Name: "web", Deadline: 10 * time.Minute}}}
	for i := range n {
		uid := fmt.Sprintf("t%02d", i)
		f.Rows = append(f.Rows, Row{UID: uid, Active: true})
		f.Tenants = append(f.Tenants, tenant(uid, "web"))
	}
	for _, change := range changes {
		change(&f)
	}
	return f
}

func tenant(uid, template string) Existing {
	return Existing{Name: uid + "-" + template, Identity: "id-" + uid, UID: uid, Template: template, ValuesCurrent: true, TemplateCurrent: true, Ready: true}
}

func names(n int) []string {
	var all []string
	for i := range n {
		all = append(all, fmt.Sprintf("t%02d-web", i))
	}
	return all
}

func goings(because string, tenants ...string) []Going {
	var all []Going
	for _, t := range tenants {
		all = append(all, Going{Tenant: t, Because: because})
	}
	return all
}

func TestRegistry(t *testing.T) {
	for sentence, c := range map[string]struct {
		facts RegistryFacts
		want  RegistryDecision
	}{
		"all is as it should be: nothing": {settled(3), RegistryDecision{Desired: 3}},
		"a row that is new: make its tenant": {
			settled(2, func(f *RegistryFacts) {
				f.Rows = append(f.Rows, Row{UID: "b", Active: true}, Row{UID: "a", Active: true})
			}),
			RegistryDecision{Desired: 4, Create: []Creation{{"a", "web"}, {"b", "web"}}}},
		"an inactive row has no tenant": {
			settled(2, func(f *RegistryFacts) { f.Rows = append(f.Rows, Row{UID: "a"}) }), RegistryDecision{Desired: 2}},
		"two templates: two tenants for each row": {
			settled(1, func(f *RegistryFacts) { f.Templates = append(f.Templates, Template{Name: "db"}) }),
			RegistryDecision{Desired: 2, Create: []Creation{{"t00", "db"}}}},
		"a template that is wrong makes nothing and changes nothing": {
			settled(1, func(f *RegistryFacts) {
				f.Templates[0].Invalid = true
				f.Rows = append(f.Rows, Row{UID: "a", Active: true})
				f.Tenants[0].ValuesCurrent, f.Tenants[0].TemplateCurrent = false, false
			}), RegistryDecision{Desired: 2}},
		"a tenant that is still going is not made again before it is gone": {
			settled(1, func(f *RegistryFacts) { f.Tenants[0].Deleting = true }), RegistryDecision{Desired: 1}},
		"a row with new values: change its tenant at once": {
			settled(2, func(f *RegistryFacts) { f.Tenants[1].ValuesCurrent = false }),
			RegistryDecision{Desired: 2, Update: []Update{{Tenant: "t01-web"}}}},
		"new values of a tenant whose turn has not come: only the values": {
			settled(2, func(f *RegistryFacts) {
				f.Templates[0].MaxSkew = 1
				f.Tenants[0].TemplateCurrent, f.Tenants[1].TemplateCurrent, f.Tenants[1].ValuesCurrent = false, false, false
			}),
			RegistryDecision{Desired: 2, Update: []Update{{Tenant: "t00-web", Starts: true}, {Tenant: "t01-web", ValuesOnly: true}}}},
		"new values that cannot be rendered are not tried again": {
			settled(1, func(f *RegistryFacts) { f.Tenants[0].ValuesCurrent, f.Tenants[0].Broken = false, true }), RegistryDecision{Desired: 1}},
		"a row that is inactive: delete its tenant": {
			settled(3, func(f *RegistryFacts) { f.Rows[1].Active = false }),
			RegistryDecision{Desired: 2, Delete: goings(RowInactive, "t01-web")}},
		"a row that is gone: delete its tenant": {
			settled(3, func(f *RegistryFacts) { f.Rows = f.Rows[:2] }),
			RegistryDecision{Desired: 2, Delete: goings(RowMissing, "t02-web")}},
		"a tenant that goes is not changed": {
			settled(1, func(f *RegistryFacts) { f.Rows, f.Grace, f.Tenants[0].ValuesCurrent = nil, time.Hour, false }),
			RegistryDecision{Mark: names(1), Grace: []Going{{Tenant: "t00-web", Because: RowMissing, At: now.Add(time.Hour)}}, NextCheck: now.Add(time.Hour)}},
		"a row was gone when the rows were read a while ago: read them again, and delete its tenant then": {
			settled(3, func(f *RegistryFacts) { f.Rows, f.Fresh = f.Rows[:2], false }),
			RegistryDecision{Desired: 2, Delete: []Going{{Tenant: "t02-web", Because: RowMissing, Reread: true}}}},
		"with time of grace: mark it": {
			settled(3, func(f *RegistryFacts) { f.Rows[0].Active, f.Grace = false, time.Hour }),
			RegistryDecision{Desired: 2, Mark: []string{"t00-web"}, Grace: []Going{{Tenant: "t00-web", Because: RowInactive, At: now.Add(time.Hour)}}, NextCheck: now.Add(time.Hour)}},
		"the time of grace is not over": {
			settled(3, func(f *RegistryFacts) {
				f.Rows[0].Active, f.Grace, f.Tenants[0].InactiveSince = false, time.Hour, ago(time.Minute)
			}),
			RegistryDecision{Desired: 2, Grace: []Going{{Tenant: "t00-web", Because: RowInactive, At: now.Add(59 * time.Minute)}}, NextCheck: now.Add(59 * time.Minute)}},
		"the time of grace is over": {
			settled(3, func(f *RegistryFacts) {
				f.Rows[0].Active, f.Grace, f.Tenants[0].InactiveSince = false, time.Hour, ago(time.Hour)
			}),
			RegistryDecision{Desired: 2, Delete: goings(RowInactive, "t00-web")}},
		"a mark from the future begins now": {
			settled(3, func(f *RegistryFacts) {
				f.Rows[0].Active, f.Grace, f.Tenants[0].InactiveSince = false, time.Hour, now.Add(1000*time.Hour)
			}),
			RegistryDecision{Desired: 2, Grace: []Going{{Tenant: "t00-web", Because: RowInactive, At: now.Add(time.Hour)}}, NextCheck: now.Add(time.Hour)}},
		"a row that is back in time: its tenant stays": {
			settled(3, func(f *RegistryFacts) { f.Grace, f.Tenants[0].InactiveSince = time.Hour, ago(time.Minute) }),
			RegistryDecision{Desired: 3, Unmark: []string{"t00-web"}}},
		"a rejected row leaves its tenant as it is": {
			settled(3, func(f *RegistryFacts) {
				f.Rows, f.Rejected = f.Rows[:2], []string{"t02"}
				f.Tenants[2].ValuesCurrent, f.Tenants[2].TemplateCurrent = false, false
			}), RegistryDecision{Desired: 2, Left: []string{"t02-web"}}},
		"a template that is deleted takes its tenants along, without grace": {
			settled(1, func(f *RegistryFacts) { f.Templates[0].Deleting, f.Grace, f.Fresh = true, time.Hour, false }),
			RegistryDecision{Delete: goings(TemplateDeleted, "t00-web")}},
		"the rows could not be read: nothing, whatever there is": {
			settled(3, func(f *RegistryFacts) {
				f.Reading, f.Rows, f.Held = ReadingFailed, nil, &Hold{ID: "x"}
				f.Tenants[0].ValuesCurrent, f.Tenants[1].InactiveSince = false, ago(time.Minute)
			}), RegistryDecision{Held: &Hold{ID: "x"}}},
		"the rows could not be read, and the template is deleted: its tenant goes": {
			settled(1, func(f *RegistryFacts) { f.Reading, f.Rows, f.Templates[0].Deleting = ReadingFailed, nil, true }),
			RegistryDecision{Delete: goings(TemplateDeleted, "t00-web")}},
		"somebody has confirmed at the template that its tenants go: all of them do": {
			settled(3, func(f *RegistryFacts) {
				f.Reading, f.Rows, f.Templates[0].Deleting, f.Templates[0].Confirmed = ReadingGone, nil, true, true
			}),
			RegistryDecision{Delete: goings(TemplateDeleted, names(3)...)}},
		"the registry is gone: its tenants stay": {
			settled(3, func(f *RegistryFacts) { f.Reading, f.Rows = ReadingGone, nil }), RegistryDecision{}},
		"the registry is gone, and the template, too: its tenant goes": {
			settled(1, func(f *RegistryFacts) { f.Reading, f.Rows, f.Templates[0].Deleting = ReadingGone, nil, true }),
			RegistryDecision{Delete: goings(TemplateDeleted, "t00-web")}},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := Registry(c.facts)
			if diff := cmp.Diff(c.want, got, cmpopts.EquateEmpty(), cmpopts.IgnoreFields(RegistryDecision{}, "Rollouts")); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestHowManyMayGo(t *testing.T) {
	for sentence, c := range map[string]struct {
		facts RegistryFacts
		goes  int
		held  int
	}{
		"one of one goes":               {facts: settled(1, func(f *RegistryFacts) { f.Rows = nil }), goes: 1},
		"two of two are held":           {facts: settled(2, func(f *RegistryFacts) { f.Rows = nil }), held: 2},
		"one of nine goes":              {facts: settled(9, func(f *RegistryFacts) { f.Rows = f.Rows[1:] }), goes: 1},
		"two of nineteen are held":      {facts: settled(19, func(f *RegistryFacts) { f.Rows = f.Rows[2:] }), held: 2},
		"two of twenty go":              {facts: settled(20, func(f *RegistryFacts) { f.Rows = f.Rows[2:] }), goes: 2},
		"three of twenty are held":      {facts: settled(20, func(f *RegistryFacts) { f.Rows = f.Rows[3:] }), held: 3},
		"inactive rows count as well":   {facts: settled(20, func(f *RegistryFacts) { f.Rows, f.Rows[3].Active = f.Rows[2:], false }), held: 3},
		"an empty table: all are held":  {facts: settled(50, func(f *RegistryFacts) { f.Rows = nil }), held: 50},
		"none may, but for one":         {facts: settled(50, func(f *RegistryFacts) { f.Rows, f.MaxDelete = f.Rows[1:], 0 }), goes: 1},
		"none may, and two are held":    {facts: settled(50, func(f *RegistryFacts) { f.Rows, f.MaxDelete = f.Rows[2:], 0 }), held: 2},
		"all may":                       {facts: settled(50, func(f *RegistryFacts) { f.Rows, f.MaxDelete = nil, 100 }), goes: 50},
		"those that are going are over": {facts: settled(20, func(f *RegistryFacts) { f.Rows, f.Tenants[0].Deleting = f.Rows[2:], true }), goes: 1},
		"a moment ago one went, and one more is too many": {
			facts: settled(18, func(f *RegistryFacts) { f.Rows, f.Recent = f.Rows[1:], []string{"x"} }), held: 1},
		"a moment ago one went, and one more may": {
			facts: settled(19, func(f *RegistryFacts) { f.Rows, f.Recent = f.Rows[1:], []string{"x"} }), goes: 1},
		"the registry is gone, and a template of many rows: held": {
			facts: settled(20, func(f *RegistryFacts) { f.Reading, f.Templates[0].Deleting = ReadingGone, true }), held: 20},
		"a template of many rows is held": {
			facts: settled(20, func(f *RegistryFacts) { f.Templates[0].Deleting = true }), held: 20},
		"two templates of one row are one": {
			facts: settled(10, func(f *RegistryFacts) {
				f.Templates = append(f.Templates, Template{Name: "db"})
				for _, r := range f.Rows {
					f.Tenants = append(f.Tenants, tenant(r.UID, "db"))
				}
				f.Rows = f.Rows[1:]
			}), goes: 2},
		"a row has no uid: it may be that of the missing one": {
			facts: settled(50, func(f *RegistryFacts) { f.Rows, f.Nameless = f.Rows[1:], 1 }), held: 1},
		"a row has no uid: who is inactive goes all the same": {
			facts: settled(50, func(f *RegistryFacts) { f.Rows, f.Rows[1].Active, f.Nameless = f.Rows[1:], false, 1 }), goes: 1, held: 1},
		"the time of grace comes first": {
			facts: settled(50, func(f *RegistryFacts) { f.Rows, f.Grace = nil, time.Hour })},
	} {
		t.Run(sentence, func(t *testing.T) {
			d := Registry(c.facts)
			held := 0
			if d.Held != nil {
				held = d.Held.Count
				if d.Held.ID == "" || d.Held.Message == "" || d.Held.Confirmed || len(d.Held.Tenants) != held || !d.Held.Since.Equal(now) {
					t.Errorf("the hold is %+v", d.Held)
				}
			}
			if len(d.Delete) != c.goes || held != c.held {
				t.Errorf("%d deleted and %d held, want %d and %d", len(d.Delete), held, c.goes, c.held)
			}
		})
	}
}

func TestWordsOfAHold(t *testing.T) {
	d := Registry(settled(50, func(f *RegistryFacts) { f.Rows, f.Rows[10].Active = f.Rows[8:], false }))
	want := "9 of 50 rows would lose their tenants at once (8 tenants because the row is gone; 1 tenant because the row is inactive), and only 5 (10 %) may"
	if d.Held == nil || d.Held.Message != want {
		t.Errorf("the hold is %+v, want %q", d.Held, want)
	}
	d = Registry(settled(50, func(f *RegistryFacts) { f.Rows, f.Nameless = f.Rows[1:], 2 }))
	want = "the rows of 1 tenant are gone, and 2 rows have no uid: it may be theirs. Give it one, remove it, or exclude it with source.where"
	if d.Held == nil || d.Held.Message != want {
		t.Errorf("the hold is %+v, want %q", d.Held, want)
	}
}

func TestConfirmation(t *testing.T) {
	empty := func(f *RegistryFacts) { f.Rows = nil }
	first := Registry(settled(5, empty)).Held
	later := func(f *RegistryFacts) { f.Now = now.Add(time.Hour) }
	recorded := func(f *RegistryFacts) { f.Held = &Hold{ID: first.ID, Since: first.Since, Count: first.Count} }
	confirmed := func(f *RegistryFacts) { f.Confirmed = first.ID }
	agreed := func(f *RegistryFacts) {
		f.Held = &Hold{ID: first.ID, Since: first.Since, Count: 5, Tenants: names(5), Confirmed: true, Covered: cover(f.Tenants, names(5))}
	}
	// The status names only some of many tenants.
	restarted := func(f *RegistryFacts) { f.Held.Tenants = f.Held.Tenants[:2] }

	t.Run("the same tenants stay the same hold", func(t *testing.T) {
		d := Registry(settled(5, empty, later, recorded))
		if len(d.Delete) != 0 {
			t.Errorf("%v go", d.Delete)
		}
		if diff := cmp.Diff(first, d.Held); diff != "" {
			t.Errorf("hold (-want +got):\n%s", diff)
		}
	})
	t.Run("somebody has confirmed it: they go", func(t *testing.T) {
		d := Registry(settled(5, empty, later, recorded, confirmed))
		if len(d.Delete) != 5 || d.Held == nil || !d.Held.Confirmed || d.Held.ID != first.ID || d.Held.Count != 5 {
			t.Errorf("%d go; the hold is %+v", len(d.Delete), d.Held)
		}
	})
	t.Run("other tenants were confirmed: nobody goes", func(t *testing.T) {
		d := Registry(settled(5, empty, later, recorded, func(f *RegistryFacts) { f.Confirmed = "other" }))
		if len(d.Delete) != 0 || d.Held.Confirmed {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("one more would go than was confirmed: nobody goes", func(t *testing.T) {
		d := Registry(settled(6, empty, later, recorded, confirmed))
		if len(d.Delete) != 0 || d.Held.ID == first.ID {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("what came between does not need another confirmation", func(t *testing.T) {
		d := Registry(settled(5, empty, later, agreed, confirmed, func(f *RegistryFacts) { f.Tenants[0].Deleting, f.Tenants[1].Deleting = true, true }))
		want := &Hold{ID: first.ID, Since: first.Since, Count: 3, Confirmed: true, Tenants: names(5)[2:]}
		if len(d.Delete) != 3 {
			t.Errorf("%v go", d.Delete)
		}
		if diff := cmp.Diff(want, d.Held, cmpopts.IgnoreFields(Hold{}, "Message", "Covered")); diff != "" {
			t.Errorf("hold (-want +got):\n%s", diff)
		}
	})
	t.Run("a restart after the confirmation: they go", func(t *testing.T) {
		d := Registry(settled(5, empty, later, agreed, restarted, confirmed))
		if len(d.Delete) != 5 || d.Held == nil || !d.Held.Confirmed || d.Held.ID != first.ID {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("a restart in the middle of it: the others go", func(t *testing.T) {
		d := Registry(settled(5, empty, later, agreed, restarted, confirmed, func(f *RegistryFacts) { f.Tenants[0].Deleting, f.Tenants[1].Deleting = true, true }))
		if len(d.Delete) != 3 || !d.Held.Confirmed || d.Held.ID != first.ID || d.Held.Count != 3 {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("a restart in the middle of it, and one more would go: nobody goes", func(t *testing.T) {
		d := Registry(settled(6, empty, later, agreed, restarted, confirmed, func(f *RegistryFacts) { f.Tenants[0].Deleting, f.Tenants[1].Deleting = true, true }))
		if len(d.Delete) != 0 || d.Held.Confirmed || d.Held.ID == first.ID || d.Held.Count != 4 {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("a restart, and nobody knows who was confirmed: nobody goes", func(t *testing.T) {
		d := Registry(settled(5, empty, later, agreed, restarted, confirmed, func(f *RegistryFacts) { f.Held.Covered, f.Tenants[0].Deleting = nil, true }))
		if len(d.Delete) != 0 || d.Held.Confirmed || d.Held.ID == first.ID || d.Held.Count != 4 {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("one was made anew: nobody goes", func(t *testing.T) {
		d := Registry(settled(5, empty, later, agreed, confirmed, func(f *RegistryFacts) {
			f.Tenants[0].Deleting, f.Tenants[1].Identity = true, "another"
		}))
		if len(d.Delete) != 0 || d.Held.Confirmed {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("as many others would go, and it is known who was confirmed: nobody goes", func(t *testing.T) {
		d := Registry(settled(6, empty, later, confirmed, func(f *RegistryFacts) {
			f.Held = &Hold{ID: first.ID, Since: first.Since, Count: 5, Tenants: names(6)[:5], Confirmed: true, Covered: cover(f.Tenants, names(6)[:5])}
			f.Tenants[0].Deleting, f.Tenants[1].Deleting = true, true
		}))
		if len(d.Delete) != 0 || d.Held.Confirmed {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("the confirmation was taken back in between", func(t *testing.T) {
		d := Registry(settled(5, empty, later, agreed, func(f *RegistryFacts) { f.Tenants[0].Deleting = true }))
		if len(d.Delete) != 0 || d.Held.Confirmed {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("when all are going it is over", func(t *testing.T) {
		d := Registry(settled(5, empty, later, agreed, confirmed, func(f *RegistryFacts) {
			for i := range f.Tenants {
				f.Tenants[i].Deleting = true
			}
		}))
		if d.Held != nil || len(d.Delete) != 0 {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("the rows were back, and are gone again: an old confirmation does not count", func(t *testing.T) {
		d := Registry(settled(5, empty, later, confirmed))
		if len(d.Delete) != 0 || d.Held.ID == first.ID {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
	t.Run("other tenants of the same names are others", func(t *testing.T) {
		d := Registry(settled(5, empty, later, recorded, confirmed, func(f *RegistryFacts) { f.Tenants[4].Identity = "new" }))
		if len(d.Delete) != 0 || d.Held.ID == first.ID {
			t.Errorf("%v go; the hold is %+v", d.Delete, d.Held)
		}
	})
}
