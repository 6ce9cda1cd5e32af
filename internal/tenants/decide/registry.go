// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/objects/rollout"
)

// Reading is the result of the last reading of the rows.
type Reading string

const (
	// ReadingGood: the rows are current.
	ReadingGood Reading = "good"
	// ReadingFailed: the rows are unknown. Tenants stay unchanged, unless their template is
	// deleted.
	ReadingFailed Reading = "failed"
	// ReadingGone: the registry no longer exists. Its tenants stay, unless their template is
	// deleted.
	ReadingGone Reading = "gone"
)

// RegistryFacts are all facts about a registry.
type RegistryFacts struct {
	Now     time.Time
	Reading Reading
	// Fresh is true if this reading is decided on for the first time.
	Fresh bool
	// Rows are the valid rows.
	Rows []Row
	// Rejected are the uids of the other rows; Nameless is the number of those without one.
	Rejected []string
	Nameless int
	// Templates are the templates of the registry.
	Templates []Template
	// Tenants are all tenants of the registry.
	Tenants []Existing

	// MaxDelete is the maximum percentage of tenants deleted at once.
	MaxDelete int
	// Grace is how long a tenant stays after its row became inactive or disappeared.
	Grace time.Duration
	// Held is the hold of the last decision; nil for none.
	Held *Hold
	// Confirmed is the id of the confirmed hold.
	Confirmed string
	// Recent are the uids whose tenants were deleted a moment ago, without confirmation. Rows that
	// disappear one by one count like rows that disappear at once.
	Recent []string
}

// Row is a valid row.
type Row struct {
	// UID is as in the column.
	UID    string
	Active bool
}

// Template is one template of the registry.
type Template struct {
	Name string
	// Deleting is true if it is being deleted. Confirmed is true if the deletion of all its tenants
	// was confirmed.
	Deleting, Confirmed bool
	// Invalid is true if it cannot be rendered. Its tenants stay unchanged, and no new one is
	// created.
	Invalid bool
	// MaxSkew, HasCanary, Deadline and Last are as in [rollout.Facts].
	MaxSkew   int
	HasCanary bool
	Deadline  time.Duration
	Last      rollout.Last
}

// Existing is an existing tenant.
type Existing struct {
	// Name is the object's name. Identity identifies this object: a recreated one has another.
	Name, Identity string
	// UID is as in the row, Template the name of its template.
	UID, Template string
	Deleting      bool
	// InactiveSince is when its row became inactive or disappeared; zero if it is active.
	InactiveSince time.Time
	// ValuesCurrent is true if it has the values of its row, TemplateCurrent if it has its
	// template's generation.
	ValuesCurrent, TemplateCurrent bool
	// Ready and Failed are its state now; the state before the last change does not count.
	Ready, Failed bool
	// Since is when it got its last template change; zero if it never did, or was not ready then.
	Since time.Time
	// Canary is true if it gets changes first.
	Canary bool
	// Broken is true if it cannot be rendered from its current row and template, Refused if the API
	// refused the result.
	Broken, Refused bool
}

// RegistryDecision is the next actions.
type RegistryDecision struct {
	Create []Creation
	Update []Update
	// Mark are the tenants whose grace period begins, Unmark those that are wanted again.
	Mark, Unmark []string
	Delete       []Going
	// Grace are the tenants to delete after their grace period.
	Grace []Going
	// Held are the tenants that wait for confirmation; nil for none.
	Held *Hold
	// Left are the tenants that stay unchanged because the meaning of their row is unknown.
	Left []string
	// Rollouts are the rollouts by template.
	Rollouts map[string]rollout.Decision
	// Desired is the number of wanted tenants.
	Desired int
	// NextCheck is when to decide again without an event.
	NextCheck time.Time
}

// Creation is a tenant to create.
type Creation struct{ UID, Template string }

// Update is a tenant to change.
type Update struct {
	Tenant string
	// ValuesOnly is true if it is not its turn to get the newest template: only the values of its
	// row change.
	ValuesOnly bool
	// Starts is true if it is on its way from now on. This is recorded.
	Starts bool
}

// Why a tenant is unwanted.
const (
	RowInactive     = "the row is inactive"
	RowMissing      = "the row is gone"
	TemplateDeleted = "the template is deleted"
)

// Going is a tenant to delete.
type Going struct {
	Tenant, Because string
	// At is when its grace period ends, if it has one.
	At time.Time
	// Reread is true if the rows must be read first: they were read long before its grace period
	// ended, or before its deletion was confirmed, and its row may be back.
	Reread bool
}

// Registry decides about the tenants of a registry. If the rows could not be read, it decides only
// about tenants whose template is deleted, and otherwise keeps the hold.
func Registry(f RegistryFacts) RegistryDecision {
	d := RegistryDecision{Rollouts: map[string]rollout.Decision{}}
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

// confirmed separates the tenants whose deletion was confirmed through their template.
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

// reading indexes the facts by name.
type reading struct {
	f RegistryFacts
	// active maps existing uids to whether the row is active.
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

// creations returns the wanted tenants that do not exist. It waits for one that is still being
// deleted.
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
	// The order must not depend on that of the rows: integers are allocated in it.
	slices.SortFunc(create, func(a, b Creation) int {
		return cmp.Or(cmp.Compare(a.UID, b.UID), cmp.Compare(a.Template, b.Template))
	})
	return slices.Compact(create)
}

// why returns why a tenant is unwanted; "" if it is wanted.
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

// unwanted sorts the unwanted tenants, and returns the due ones.
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

// grace starts or continues a tenant's grace period, or reports its end.
func (r reading) grace(t Existing, because string, d *RegistryDecision) (Going, bool) {
	since := t.InactiveSince
	if since.IsZero() {
		d.Mark = append(d.Mark, t.Name)
		since = r.f.Now
	}
	// A mark from the future, due to a wrong clock, must not keep the tenant forever.
	if since.After(r.f.Now) {
		since = r.f.Now
	}
	at := since.Add(r.f.Grace)
	if !at.After(r.f.Now) {
		return Going{Tenant: t.Name, Because: because}, true
	}
	d.Grace = append(d.Grace, Going{Tenant: t.Name, Because: because, At: at})
	d.NextCheck = times.Earlier(d.NextCheck, at)
	return Going{}, false
}

// living returns the tenants that are not being deleted.
func (r reading) living() []Existing {
	return slices.DeleteFunc(slices.Clone(r.f.Tenants), func(t Existing) bool { return t.Deleting })
}

// changes applies new values to tenants at once, and template changes by rollout.
func (r reading) changes(d *RegistryDecision) {
	if r.f.Reading != ReadingGood {
		return
	}
	updates := map[string]Update{}
	for _, template := range r.f.Templates {
		if template.Deleting || template.Invalid {
			continue
		}
		decided := rollout.Decide(r.rollout(template))
		d.Rollouts[template.Name] = decided
		d.NextCheck = times.Earlier(d.NextCheck, decided.NextCheck)
		for _, u := range decided.Update {
			updates[u.Name] = Update{Tenant: u.Name, Starts: u.Starts}
		}
	}
	for _, t := range sorted(r.f.Tenants) {
		u, turn := updates[t.Name]
		switch {
		case turn:
			d.Update = append(d.Update, u)
		case r.frozen(t) || t.ValuesCurrent || r.templates[t.Template].Invalid:
		case t.Broken && t.TemplateCurrent:
			// The controller that tried reports why.
		default:
			d.Update = append(d.Update, Update{Tenant: t.Name, ValuesOnly: !t.TemplateCurrent})
		}
	}
}

// frozen reports whether a tenant must not be changed: it is being deleted, held, or the meaning of
// its row is unknown.
func (r reading) frozen(t Existing) bool {
	return t.Deleting || r.why(t) != "" || r.rejected[t.UID]
}

// words name tenants in the messages of rollouts.
var words = rollout.Words{
	One: "tenant", Many: "tenants", Original: "template", NoCanary: "no tenant has the labels of spec.rollout.canary", Broken: "these cannot be rendered",
}

func (r reading) rollout(template Template) rollout.Facts {
	f := rollout.Facts{Words: words, Now: r.f.Now, MaxSkew: template.MaxSkew, HasCanary: template.HasCanary, Deadline: template.Deadline, Last: template.Last}
	for _, t := range r.f.Tenants {
		if t.Template == template.Name && !t.Deleting {
			f.Items = append(f.Items, rollout.Item{Name: t.Name, Current: t.TemplateCurrent, Ready: t.Ready, Failed: t.Failed, Since: t.Since,
				Canary: t.Canary, Broken: t.Broken, Refused: t.Refused, Frozen: r.frozen(t)})
		}
	}
	return f
}

// sorted sorts tenants by name.
func sorted(tenants []Existing) []Existing {
	return slices.SortedFunc(slices.Values(tenants), func(a, b Existing) int { return cmp.Compare(a.Name, b.Name) })
}
