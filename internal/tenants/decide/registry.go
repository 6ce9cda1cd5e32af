// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/moment"
)

// Reading is how the last reading of the rows went.
type Reading string

const (
	// ReadingGood: the rows are what the registry has.
	ReadingGood Reading = "good"
	// ReadingFailed: nothing is known of the rows. Tenants stay as they are, unless their template is deleted.
	ReadingFailed Reading = "failed"
	// ReadingGone: there is no registry any more. Its tenants stay, unless their template is deleted.
	ReadingGone Reading = "gone"
)

// RegistryFacts are all that is known of a registry.
type RegistryFacts struct {
	Now     time.Time
	Reading Reading
	// Fresh is true when nobody has decided on this reading before.
	Fresh bool
	// Rows are those that a tenant can be made of.
	Rows []Row
	// Rejected are the uids of the other rows, and Nameless is how many of those have none.
	Rejected []string
	Nameless int
	// Templates are those that name the registry.
	Templates []Template
	// Tenants are all of the registry.
	Tenants []Existing

	// MaxDelete is how many of the tenants may go at once, in percent.
	MaxDelete int
	// Grace is how long a tenant stays whose row is inactive or gone.
	Grace time.Duration
	// Held is the hold of the last decision; nil when there was none.
	Held *Hold
	// Confirmed is the hold that somebody has confirmed.
	Confirmed string
	// Recent are the uids whose tenants were told to go a moment ago, unconfirmed. Rows that vanish one by one, and are heard of
	// one by one, are as many as rows that vanish at once.
	Recent []string
}

// Row is a row that a tenant can be made of.
type Row struct {
	// UID is as the column has it.
	UID    string
	Active bool
}

// Template is one template of the registry.
type Template struct {
	Name string
	// Deleting is true when somebody has deleted it. Confirmed is true when somebody has confirmed that its tenants go, however
	// many they are.
	Deleting, Confirmed bool
	// Invalid is true when nothing can be made of it as it is. Its tenants stay as they are, and no new one is made.
	Invalid bool
	// MaxSkew, HasCanary, Deadline and Last are as in [RolloutFacts].
	MaxSkew   int
	HasCanary bool
	Deadline  time.Duration
	Last      Last
}

// Existing is a tenant that there is.
type Existing struct {
	// Name is the object's, and Identity stands for this very object: another one of the same name has another.
	Name, Identity string
	// UID is as the row has it, Template the name of its template.
	UID, Template string
	Deleting      bool
	// InactiveSince is since when its row is known to be inactive or gone; zero when it is not.
	InactiveSince time.Time
	// ValuesCurrent is true when it has the values of its row, TemplateCurrent when it has its template's generation.
	ValuesCurrent, TemplateCurrent bool
	// Ready is true when it is ready as it is now: what was seen of an older state does not count. Failed is true when it
	// has failed as it is now.
	Ready, Failed bool
	// Since is when the last change of its template was brought to it; zero when none was, or when it was not ready then.
	Since time.Time
	// Canary is true when it gets changes first.
	Canary bool
	// Broken is true when it cannot be rendered from its row and template as they are now, Refused when it can be, and was not taken.
	Broken, Refused bool
}

// RegistryDecision is what to do next.
type RegistryDecision struct {
	Create []Creation
	Update []Update
	// Mark are the tenants whose time of grace begins, Unmark those that are wanted again.
	Mark, Unmark []string
	Delete       []Going
	// Grace are the tenants that go when their time is over.
	Grace []Going
	// Held are the tenants that wait for a confirmation; nil when there is no hold.
	Held *Hold
	// Left are the tenants that are left as they are, because nobody knows what their row means.
	Left []string
	// Rollouts are by template.
	Rollouts map[string]RolloutDecision
	// Desired is how many tenants there should be.
	Desired int
	// NextCheck is when to look again even if nothing happens.
	NextCheck time.Time
}

// Creation is a tenant to make.
type Creation struct{ UID, Template string }

// Update is a tenant to change.
type Update struct {
	Tenant string
	// ValuesOnly is true when its turn to get the newest template has not come: only what it knows of its row is changed.
	ValuesOnly bool
	// Starts is true when it is on its way from now on: the time is written down.
	Starts bool
}

// Why a tenant is not wanted.
const (
	RowInactive     = "the row is inactive"
	RowMissing      = "the row is gone"
	TemplateDeleted = "the template is deleted"
)

// Going is a tenant that goes.
type Going struct {
	Tenant, Because string
	// At is when, for those that have time left.
	At time.Time
	// Reread is true when the rows have to be read before: they were read long before its time was over, or before somebody has
	// confirmed that it goes, and its row may be back.
	Reread bool
}

// Registry says what to do about the tenants of a registry. When the rows could not be read, nothing is decided but on the
// tenants whose template is deleted, and the hold stays as it was if there are none.
func Registry(f RegistryFacts) RegistryDecision {
	d := RegistryDecision{Rollouts: map[string]RolloutDecision{}}
	r := index(f)
	d.Desired = r.desired()
	d.Create = r.creations()
	sure, due := r.confirmed(r.unwanted(&d))
	if f.Reading == ReadingFailed && len(due) == 0 {
		d.Held = f.Held
	} else {
		due, d.Held = hold(f, r.living(), due)
	}
	d.Delete = slices.SortedFunc(slices.Values(append(sure, due...)), func(a, b Going) int { return cmp.Compare(a.Tenant, b.Tenant) })
	for i := range d.Delete {
		d.Delete[i].Reread = !f.Fresh && d.Delete[i].Because != TemplateDeleted
	}
	r.changes(&d)
	return d
}

// confirmed parts the tenants whose template says that they may go from the others.
func (r reading) confirmed(due []Going) (sure, others []Going) {
	templates := map[string]string{}
	for _, t := range r.f.Tenants {
		templates[t.Name] = t.Template
	}
	for _, g := range due {
		if t := r.templates[templates[g.Tenant]]; t.Deleting && t.Confirmed {
			sure = append(sure, g)
		} else {
			others = append(others, g)
		}
	}
	return sure, others
}

// reading is what is known, by name.
type reading struct {
	f RegistryFacts
	// active is by uid, and tells rows that are there from those that are not.
	active    map[string]bool
	rejected  map[string]bool
	templates map[string]Template
	tenants   map[Creation]Existing
}

func index(f RegistryFacts) reading {
	r := reading{f: f, active: map[string]bool{}, rejected: map[string]bool{}, templates: map[string]Template{}, tenants: map[Creation]Existing{}}
	for _, row := range f.Rows {
		r.active[row.UID] = row.Active
	}
	for _, uid := range f.Rejected {
		r.rejected[uid] = true
	}
	for _, t := range f.Templates {
		r.templates[t.Name] = t
	}
	for _, t := range f.Tenants {
		r.tenants[Creation{t.UID, t.Template}] = t
	}
	return r
}

func (r reading) desired() int {
	if r.f.Reading != ReadingGood {
		return 0
	}
	rows, templates := 0, 0
	for _, active := range r.active {
		if active {
			rows++
		}
	}
	for _, t := range r.templates {
		if !t.Deleting {
			templates++
		}
	}
	return rows * templates
}

// creations are the wanted tenants that are not there. One that is still going is waited for.
func (r reading) creations() []Creation {
	if r.f.Reading != ReadingGood {
		return nil
	}
	var create []Creation
	for _, t := range r.f.Templates {
		if t.Deleting || t.Invalid {
			continue
		}
		for _, row := range r.f.Rows {
			c := Creation{row.UID, t.Name}
			if _, there := r.tenants[c]; row.Active && !there && !r.rejected[row.UID] {
				create = append(create, c)
			}
		}
	}
	// The order must not depend on that of the rows: integers are given in it.
	slices.SortFunc(create, func(a, b Creation) int {
		return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.Template, b.Template))
	})
	return slices.Compact(create)
}

// why says why a tenant is not wanted; empty when it is.
func (r reading) why(t Existing) string {
	template, there := r.templates[t.Template]
	active, row := r.active[t.UID]
	switch {
	case !there || template.Deleting:
		return TemplateDeleted
	case r.f.Reading != ReadingGood || row && active:
		return ""
	case row:
		return RowInactive
	}
	return RowMissing
}

// unwanted sorts the tenants that nobody wants: what is due is returned.
func (r reading) unwanted(d *RegistryDecision) []Going {
	var due []Going
	for _, t := range sorted(r.f.Tenants) {
		because := r.why(t)
		switch {
		case t.Deleting:
		case because == "":
			if !t.InactiveSince.IsZero() && !r.rejected[t.UID] && r.f.Reading != ReadingFailed {
				d.Unmark = append(d.Unmark, t.Name)
			}
		case because != TemplateDeleted && r.rejected[t.UID]:
			d.Left = append(d.Left, t.Name)
		case because == TemplateDeleted || r.f.Grace <= 0:
			due = append(due, Going{Tenant: t.Name, Because: because})
		default:
			if going, over := r.grace(t, because, d); over {
				due = append(due, going)
			}
		}
	}
	return due
}

// grace begins or continues a tenant's time of grace, or tells that it is over.
func (r reading) grace(t Existing, because string, d *RegistryDecision) (Going, bool) {
	since := t.InactiveSince
	if since.IsZero() {
		d.Mark = append(d.Mark, t.Name)
		since = r.f.Now
	}
	// A mark from the future, from a clock that was wrong, must not keep it for ever.
	if since.After(r.f.Now) {
		since = r.f.Now
	}
	at := since.Add(r.f.Grace)
	if !at.After(r.f.Now) {
		return Going{Tenant: t.Name, Because: because}, true
	}
	d.Grace = append(d.Grace, Going{Tenant: t.Name, Because: because, At: at})
	d.NextCheck = moment.Earlier(d.NextCheck, at)
	return Going{}, false
}

// living are the tenants that are there and not going.
func (r reading) living() []Existing {
	return slices.DeleteFunc(slices.Clone(r.f.Tenants), func(t Existing) bool { return t.Deleting })
}

// changes brings new values to tenants at once, and new templates as their rollouts say.
func (r reading) changes(d *RegistryDecision) {
	if r.f.Reading != ReadingGood {
		return
	}
	updates := map[string]Update{}
	for _, template := range r.f.Templates {
		if template.Deleting || template.Invalid {
			continue
		}
		rollout := Rollout(r.rollout(template))
		d.Rollouts[template.Name] = rollout
		d.NextCheck = moment.Earlier(d.NextCheck, rollout.NextCheck)
		for _, u := range rollout.Update {
			updates[u.Tenant] = u
		}
	}
	for _, t := range sorted(r.f.Tenants) {
		u, turn := updates[t.Name]
		switch {
		case turn:
			d.Update = append(d.Update, u)
		case r.frozen(t) || t.ValuesCurrent || r.templates[t.Template].Invalid:
		case t.Broken && t.TemplateCurrent:
			// It is told why by whoever has tried.
		default:
			d.Update = append(d.Update, Update{Tenant: t.Name, ValuesOnly: !t.TemplateCurrent})
		}
	}
}

// frozen tenants are not changed: they are going, wait for that, or nobody knows what their row means.
func (r reading) frozen(t Existing) bool {
	return t.Deleting || r.why(t) != "" || r.rejected[t.UID]
}

func (r reading) rollout(template Template) RolloutFacts {
	f := RolloutFacts{Now: r.f.Now, MaxSkew: template.MaxSkew, HasCanary: template.HasCanary, Deadline: template.Deadline, Last: template.Last}
	for _, t := range r.f.Tenants {
		if t.Template == template.Name && !t.Deleting {
			f.Tenants = append(f.Tenants, Bringing{Name: t.Name, Current: t.TemplateCurrent, Ready: t.Ready, Failed: t.Failed, Since: t.Since,
				Canary: t.Canary, Broken: t.Broken, Refused: t.Refused, Frozen: r.frozen(t)})
		}
	}
	return f
}

// sorted puts tenants in the order of their names.
func sorted(tenants []Existing) []Existing {
	return slices.SortedFunc(slices.Values(tenants), func(a, b Existing) int { return cmp.Compare(a.Name, b.Name) })
}
