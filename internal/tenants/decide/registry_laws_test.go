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

// drawRegistry draws facts from small pools, so that rows and tenants often match.
func drawRegistry(t *rapid.T) RegistryFacts {
	f := RegistryFacts{
		Now: now, MaxDelete: rapid.SampledFrom([]int{0, 10, 50, 100}).Draw(t, "percent"),
		Fresh:     rapid.Bool().Draw(t, "fresh"),
		Reading:   rapid.SampledFrom([]Reading{ReadingGood, ReadingGood, ReadingGood, ReadingFailed, ReadingGone}).Draw(t, "reading"),
		Nameless:  rapid.SampledFrom([]int{0, 0, 1}).Draw(t, "nameless"),
		Grace:     rapid.SampledFrom([]time.Duration{0, time.Hour}).Draw(t, "grace"),
		Confirmed: rapid.SampledFrom([]string{"", "x"}).Draw(t, "confirmed"),
	}
	for _, name := range []string{"web", "db"} {
		if rapid.IntRange(0, 4).Draw(t, name) > 0 {
			f.Templates = append(f.Templates, Template{Name: name, Deadline: time.Minute, MaxSkew: rapid.IntRange(0, 2).Draw(t, "skew"),
				Deleting: rapid.IntRange(0, 5).Draw(t, "template deleting") == 0, Confirmed: rapid.IntRange(0, 3).Draw(t, "template confirmed") == 0, Invalid: rapid.IntRange(0, 7).Draw(t, "template invalid") == 0})
		}
	}
	for _, uid := range []string{"a", "b", "c", "d", "e", "f"} {
		switch rapid.IntRange(0, 5).Draw(t, uid) {
		case 0:
		case 1:
			f.Rejected = append(f.Rejected, uid)
		case 2:
			f.Rows = append(f.Rows, Row{UID: uid})
		default:
			f.Rows = append(f.Rows, Row{UID: uid, Active: true})
		}
		for _, template := range []string{"web", "db"} {
			if !rapid.Bool().Draw(t, "there") {
				continue
			}
			f.Tenants = append(f.Tenants, Existing{Name: uid + "-" + template, Identity: uid, UID: uid, Template: template,
				Deleting: rapid.IntRange(0, 5).Draw(t, "deleting") == 0, ValuesCurrent: rapid.Bool().Draw(t, "values"),
				TemplateCurrent: rapid.Bool().Draw(t, "template"), Ready: rapid.Bool().Draw(t, "ready"),
				InactiveSince: rapid.SampledFrom([]time.Time{{}, ago(time.Minute), ago(2 * time.Hour)}).Draw(t, "inactive")})
		}
	}
	if rapid.IntRange(0, 3).Draw(t, "recent") == 0 {
		f.Recent = []string{"a", "z"}
	}
	if rapid.IntRange(0, 3).Draw(t, "held") == 0 {
		f.Held = &Hold{ID: "x", Since: ago(time.Minute), Count: rapid.IntRange(1, 12).Draw(t, "held tenants"), Confirmed: rapid.Bool().Draw(t, "held confirmed")}
		for _, tenant := range f.Tenants {
			if len(f.Held.Tenants) < f.Held.Count && rapid.IntRange(0, 4).Draw(t, "is held") > 0 {
				f.Held.Tenants = append(f.Held.Tenants, tenant.Name)
			}
		}
		f.Held.Covered = cover(f.Tenants, f.Held.Tenants)
	}
	return f
}

func TestLawsOfRegistries(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawRegistry(t)
		d := Registry(f)
		if !cmp.Equal(d, Registry(f)) {
			t.Fatal("the same facts lead to something else")
		}
		for _, law := range []struct {
			name string
			hold func(RegistryFacts, RegistryDecision) string
		}{
			{"a reading that failed changes nothing, but for templates that are deleted", failedLaw},
			{"only who is not wanted goes", goingLaw},
			{"not too many go unless it was confirmed", heldLaw},
			{"only what is wanted is made, once", makingLaw},
			{"nobody is changed who is going or whose row is not known", changingLaw},
		} {
			if broken := law.hold(f, d); broken != "" {
				t.Fatalf("%s: %s\ndecision %+v", law.name, broken, d)
			}
		}
	})
}

func failedLaw(f RegistryFacts, d RegistryDecision) string {
	if f.Reading != ReadingFailed {
		return ""
	}
	kept := slices.ContainsFunc(f.Tenants, func(t Existing) bool { return !t.Deleting && f.orphan(t) && !f.sure(t) })
	switch {
	case len(d.Create)+len(d.Update)+len(d.Mark)+len(d.Unmark) > 0:
		return "it does"
	case slices.ContainsFunc(d.Delete, func(g Going) bool { return !f.orphan(find(f, g.Tenant)) }):
		return "a tenant goes whose template is there"
	case !kept && d.Held != f.Held:
		return "the hold is another"
	}
	return ""
}

func find(f RegistryFacts, name string) Existing {
	return f.Tenants[slices.IndexFunc(f.Tenants, func(t Existing) bool { return t.Name == name })]
}

// orphan reports whether a tenant's template is deleted, sure whether that was confirmed.
func (f RegistryFacts) orphan(t Existing) bool { return !f.template(t.Template) }

func (f RegistryFacts) sure(t Existing) bool {
	return slices.ContainsFunc(f.Templates, func(x Template) bool { return x.Name == t.Template && x.Deleting && x.Confirmed })
}

// template finds a template that is not being deleted.
func (f RegistryFacts) template(name string) bool {
	return slices.ContainsFunc(f.Templates, func(t Template) bool { return t.Name == name && !t.Deleting })
}

func (f RegistryFacts) active(uid string) bool {
	return slices.Contains(f.Rows, Row{UID: uid, Active: true})
}

func goingLaw(f RegistryFacts, d RegistryDecision) string {
	for _, g := range d.Delete {
		t := find(f, g.Tenant)
		orphan := f.orphan(t)
		switch {
		case t.Deleting:
			return g.Tenant + " is going already"
		case !orphan && !f.Fresh && !g.Reread:
			return g.Tenant + " goes because of rows that were read before"
		case !orphan && f.active(t.UID):
			return g.Tenant + " is wanted"
		case !orphan && f.Reading == ReadingGone:
			return g.Tenant + " has lost its registry, and that is all"
		case !orphan && slices.Contains(f.Rejected, t.UID):
			return "the row of " + g.Tenant + " was rejected"
		case !orphan && f.Grace > 0 && (t.InactiveSince.IsZero() || now.Sub(t.InactiveSince) < f.Grace):
			return g.Tenant + " has time left"
		}
	}
	return ""
}

func heldLaw(f RegistryFacts, d RegistryDecision) string {
	uids, all := map[string]bool{}, map[string]bool{}
	for _, t := range f.Tenants {
		if !t.Deleting {
			all[t.UID] = true
		}
	}
	for _, g := range d.Delete {
		if t := find(f, g.Tenant); !f.sure(t) {
			uids[t.UID] = true
		}
	}
	for _, uid := range f.Recent {
		all[uid] = true
		if len(uids) > 0 {
			uids[uid] = true
		}
	}
	if d.Held != nil && d.Held != f.Held {
		for _, name := range d.Held.Tenants {
			if goes := slices.ContainsFunc(d.Delete, func(g Going) bool { return g.Tenant == name }); goes != d.Held.Confirmed {
				return name + " is held and goes, or is confirmed and does not"
			}
		}
		if d.Held.Confirmed && (f.Held == nil || !f.Held.Confirmed || f.Confirmed != f.Held.ID) {
			return "nobody has confirmed this"
		}
		for _, name := range d.Held.Tenants {
			if d.Held.Confirmed && !slices.Contains(f.Held.Tenants, name) {
				return "nobody has confirmed that " + name + " goes"
			}
		}
	}
	if most := max(1, len(all)*f.MaxDelete/100); len(uids) > most && (d.Held == nil || !d.Held.Confirmed) {
		return "too many go"
	}
	if f.Nameless > 0 && (d.Held == nil || !d.Held.Confirmed) &&
		slices.ContainsFunc(d.Delete, func(g Going) bool { return g.Because == RowMissing }) {
		return "a row may have lost its uid"
	}
	return ""
}

func makingLaw(f RegistryFacts, d RegistryDecision) string {
	for i, c := range d.Create {
		switch {
		case f.Reading != ReadingGood:
			return "nobody knows what is wanted"
		case !f.active(c.UID) || !f.template(c.Template):
			return c.UID + " is not wanted"
		case slices.ContainsFunc(f.Tenants, func(t Existing) bool { return t.UID == c.UID && t.Template == c.Template }):
			return c.UID + " is there"
		case slices.Contains(d.Create[i+1:], c):
			return c.UID + " is made twice"
		}
	}
	return ""
}

func changingLaw(f RegistryFacts, d RegistryDecision) string {
	seen := map[string]bool{}
	for _, u := range d.Update {
		t := find(f, u.Tenant)
		switch {
		case seen[u.Tenant]:
			return u.Tenant + " is changed twice"
		case f.Reading != ReadingGood || t.Deleting || slices.Contains(f.Rejected, t.UID) || !f.active(t.UID) || !f.template(t.Template):
			return u.Tenant + " is not to be changed"
		case t.ValuesCurrent && t.TemplateCurrent:
			return u.Tenant + " is as it should be"
		case u.ValuesOnly && (t.ValuesCurrent || t.TemplateCurrent || u.Starts):
			return u.Tenant + " gets half a change"
		}
		seen[u.Tenant] = true
	}
	return ""
}
