// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/rollout"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// pass is the state of one pass over a registry.
type pass struct {
	name types.NamespacedName
	// obj is nil if the registry is gone; before is its state in the API.
	obj, before *tenantv1.TenantRegistry
	account     *account
	now         time.Time
	// reading is the registry's last one; may be nil. fresh: this pass is the first to see it.
	reading *reading
	fresh   bool
	// rows are those of the last successful reading, by uid.
	rows      map[string]*row.Row
	templates map[string]*tenantv1.TenantTemplate
	// tenants are the last written ones, by name.
	tenants map[string]*tenantv1.Tenant
	pools   *allocate.Pools
	// broken is why tenants cannot be rendered, by name.
	broken map[string]string
	// unmade is why tenants could not be created or changed, by template and tenant.
	unmade   map[string]map[string]string
	decision decide.RegistryDecision
	// tried are the due changes; refusedUntil is the first retry. stale: some tenants were
	// outdated.
	tried        map[string]bool
	refusedUntil time.Time
	stale        bool
	// unheard is when to expect tenants that the cache does not have yet.
	unheard time.Time
	// leaving is the registry while it is being deleted.
	leaving *tenantv1.TenantRegistry
	// more: there is more to do than one pass may.
	more bool
	// recentUntil is when the first of the recent deletions stops counting.
	recentUntil time.Time
}

// gather reads a registry's templates and tenants from the cache.
func (r *Controller) gather(ctx context.Context, p *pass) error {
	var templates tenantv1.TenantTemplateList
	if err := r.listCached(ctx, &templates, p.name.Namespace, passes.IndexRegistry, p.name.Name); err != nil {
		return fmt.Errorf("list the templates of registry %s: %w", p.name, err)
	}
	p.templates = make(map[string]*tenantv1.TenantTemplate, len(templates.Items))
	for i := range templates.Items {
		p.templates[templates.Items[i].Name] = &templates.Items[i]
	}
	tenants, err := r.tenantsOf(ctx, p)
	if err != nil {
		return fmt.Errorf("list the tenants of registry %s: %w", p.name, err)
	}
	if p.obj == nil { // the tenants of a deleted registry go, but not those that another home works on
		tenants = slices.DeleteFunc(tenants, func(t tenantv1.Tenant) bool { return moving.Held(&t) != "" })
	}
	p.tenants = p.account.lay(tenants)
	p.unheard = r.vanish(ctx, p)
	gone := func(name string, _ settlement) bool { return p.tenants[name] == nil }
	maps.DeleteFunc(p.account.settled, gone)
	maps.DeleteFunc(p.account.renders, gone)
	p.pools = allocate.New()
	for _, name := range slices.Sorted(maps.Keys(p.tenants)) {
		p.pools.Keep(p.tenants[name].Spec.UID, p.tenants[name].Spec.Allocations)
	}
	p.rows = map[string]*row.Row{}
	if good := p.account.good; good != nil {
		for i := range good.rows {
			p.rows[good.rows[i].UID] = &good.rows[i]
		}
	}
	return nil
}

func (r *Controller) listCached(ctx context.Context, list client.ObjectList, namespace, index, name string) error {
	return r.Cached.List(ctx, list, client.InNamespace(namespace), client.MatchingFields{index: namespace + "/" + name}, client.UnsafeDisableDeepCopy)
}

// tenantsOf lists a registry's tenants: those of its templates, whatever their labels, and those
// that name the registry and have no template. A tenant whose template has another registry belongs
// to that one.
func (r *Controller) tenantsOf(ctx context.Context, p *pass) ([]tenantv1.Tenant, error) {
	var all []tenantv1.Tenant
	for name := range p.templates {
		var list tenantv1.TenantList
		if err := r.listCached(ctx, &list, p.name.Namespace, passes.IndexTemplate, name); err != nil {
			return nil, err
		}
		all = append(all, list.Items...)
	}
	var list tenantv1.TenantList
	if err := r.listCached(ctx, &list, p.name.Namespace, passes.IndexRegistry, p.name.Name); err != nil {
		return nil, err
	}
	for i := range list.Items {
		of := list.Items[i].Spec.TemplateRef
		if p.templates[of] != nil {
			continue
		}
		err := r.Cached.Get(ctx, client.ObjectKey{Namespace: p.name.Namespace, Name: of}, &tenantv1.TenantTemplate{})
		switch {
		case apierrors.IsNotFound(err):
			all = append(all, list.Items[i])
		case err != nil:
			return nil, err
		}
	}
	return all, nil
}

// lay replaces cached tenants by the versions that were written here later.
func (a *account) lay(cached []tenantv1.Tenant) map[string]*tenantv1.Tenant {
	tenants := make(map[string]*tenantv1.Tenant, len(cached))
	for i := range cached {
		tenants[cached[i].Name] = &cached[i]
	}
	for name, w := range a.overlay {
		t := tenants[name]
		switch {
		case w.deleted && (t == nil || t.UID != w.tenant.UID || t.DeletionTimestamp != nil):
			delete(a.overlay, name)
		case w.deleted:
			tenants[name] = w.tenant
		case t == nil && w.known:
			delete(a.overlay, name) // it was deleted since the cache had it
		case t == nil, owned.Older(t.ResourceVersion, w.tenant.ResourceVersion):
			tenants[name] = w.tenant
		default:
			delete(a.overlay, name)
		}
	}
	return tenants
}

// cacheLag is longer than the delay of a cache.
const cacheLag = 5 * time.Second

// vanish drops tenants created here that the cache should contain by now: they were deleted. It
// returns when to check the others.
func (r *Controller) vanish(ctx context.Context, p *pass) (next time.Time) {
	asked := 0
	for name, w := range p.account.overlay {
		due := w.at.Add(cacheLag)
		switch {
		case w.known || w.deleted:
		case p.now.Before(due):
			next = times.Earlier(next, due)
		case asked < tenantWrites:
			asked++
			if apierrors.IsNotFound(r.Reader.Get(ctx, client.ObjectKeyFromObject(w.tenant), &tenantv1.Tenant{})) {
				delete(p.account.overlay, name)
				delete(p.tenants, name)
				continue
			}
			fallthrough
		default:
			next = times.Earlier(next, p.now.Add(cacheLag))
		}
	}
	return next
}

// wrote records a tenant as the API returned it.
func (a *account) wrote(t *tenantv1.Tenant, created bool, now time.Time) {
	a.overlay[t.Name] = written{tenant: t, known: !created, at: now}
}

// deleted records a deleted tenant.
func (a *account) deleted(t *tenantv1.Tenant, now time.Time) {
	t = t.DeepCopy()
	t.DeletionTimestamp = &metav1.Time{Time: now}
	a.overlay[t.Name] = written{tenant: t, deleted: true}
}

// facts are the input of the decision.
func (r *Controller) facts(p *pass) decide.RegistryFacts {
	f := decide.RegistryFacts{Now: p.now, Reading: decide.ReadingGone}
	if p.obj != nil {
		f.Reading = decide.ReadingFailed
		f.MaxDelete, f.Grace = p.obj.Spec.Protection.MaxDelete(), p.obj.Spec.Protection.Grace()
		f.Confirmed = p.obj.Annotations[tenantv1.AnnotationConfirmDeletion]
		f.Held = holdOf(p.obj.Status.Held)
		if last := p.reading; last != nil && last.err == nil {
			f.Reading, f.Fresh = decide.ReadingGood, p.fresh
			for i := range last.rows {
				f.Rows = append(f.Rows, decide.Row{UID: last.rows[i].UID, Active: last.rows[i].Active})
			}
			for _, rejected := range last.rejected {
				if rejected.Named() {
					f.Rejected = append(f.Rejected, rejected.UID)
				} else {
					f.Nameless++
				}
			}
		}
	} else {
		f.MaxDelete = (*tenantv1.Protection)(nil).MaxDelete()
	}
	f.Recent, p.recentUntil = p.account.forgetLet(p.now, p.moment())
	for _, name := range slices.Sorted(maps.Keys(p.templates)) {
		f.Templates = append(f.Templates, r.templateFacts(p, p.templates[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(p.tenants)) {
		f.Tenants = append(f.Tenants, r.existing(p, p.tenants[name], f.Reading == decide.ReadingGood))
	}
	return f
}

// longestMoment is the maximum time between rows that count as vanished at once.
const longestMoment = 30 * time.Second

// moment is the same for one registry: rows that vanish within one interval are noticed at once.
func (p *pass) moment() time.Duration {
	if p.obj == nil {
		return longestMoment
	}
	return min(p.obj.Spec.Source.Interval(), longestMoment)
}

// templateFacts are the facts about a template, with findings that its status may not have yet.
func (r *Controller) templateFacts(p *pass, t *tenantv1.TenantTemplate) decide.Template {
	var last rollout.Last
	if s := r.rolloutBefore(p, t); s != nil {
		last.Complete, last.Same = s.Phase == tenantv1.RolloutComplete, s.TargetGeneration == t.Generation
		if s.StartTime != nil {
			last.Began = s.StartTime.Time
		}
		if last.Complete && s.CompletionTime != nil {
			last.Ended = s.CompletionTime.Time
		}
	}
	return decide.Template{Name: t.Name, Deleting: t.DeletionTimestamp != nil, Confirmed: t.Annotations[tenantv1.AnnotationConfirmDeletion] == string(t.UID),
		Invalid: !passes.Validated(t), MaxSkew: t.Spec.Rollout.Skew(), HasCanary: t.Spec.Rollout != nil && t.Spec.Rollout.Canary != nil,
		Deadline: t.Spec.Rollout.Deadline(), Last: last}
}

// rolloutBefore is the progress of a template's rollout at the last pass; nil if unknown.
func (r *Controller) rolloutBefore(p *pass, t *tenantv1.TenantTemplate) *tenantv1.RolloutStatus {
	if told := r.Findings.Told(p.name, t); told.Rollout != nil {
		return told.Rollout
	}
	return t.Status.Rollout
}

// existing returns the facts about a tenant.
func (r *Controller) existing(p *pass, t *tenantv1.Tenant, rowsKnown bool) decide.Existing {
	stand := passes.StandingOf(t)
	e := decide.Existing{Name: t.Name, Identity: string(t.UID), UID: t.Spec.UID, Template: t.Spec.TemplateRef, Deleting: t.DeletionTimestamp != nil,
		InactiveSince: timeIn(t, tenantv1.AnnotationInactiveSince), Since: timeIn(t, tenantv1.AnnotationRolloutStart), Ready: stand.Ready, Failed: stand.Failed}
	template, of := p.templates[t.Spec.TemplateRef], p.rows[t.Spec.UID]
	if template == nil {
		return e
	}
	e.Canary = isCanary(template, t)
	e.TemplateCurrent = t.Annotations[tenantv1.AnnotationTemplateGeneration] == strconv.FormatInt(template.Generation, 10)
	if !rowsKnown || of == nil || e.Deleting || template.DeletionTimestamp != nil {
		e.ValuesCurrent = true
		return e
	}
	digest := p.account.good.digests[of.SafeUID]
	if p.account.settled[t.Name] == settlementOf(t, template, digest) {
		e.TemplateCurrent, e.ValuesCurrent = true, true
		return e
	}
	if f := p.account.refused[kindChanged+" "+t.Name]; f != nil && f.Digest == p.keyOf(template, of) {
		e.Refused = true
	}
	e.ValuesCurrent = hasAnnotations(t, render.Annotations(*of))
	if !e.TemplateCurrent && p.account.renders[t.Name] == settlementOf(t, template, digest) {
		// It is rendered when it is its turn.
		return e
	}
	want, err := r.want(p, template, of, t)
	if err != nil {
		p.broken[t.Name] = err.Error()
		e.Broken = true
		return e
	}
	p.account.renders[t.Name] = settlementOf(t, template, digest)
	switch {
	case !e.TemplateCurrent || !e.ValuesCurrent:
	case asWanted(t, want):
		p.account.settled[t.Name] = settlementOf(t, template, digest)
	case sameSpec(&t.Spec, &want.Spec):
		e.ValuesCurrent = false
	default:
		// The values are the same, so another template with its own generations has its name, or
		// this server renders it differently.
		e.TemplateCurrent = false
	}
	// It is rendered when written: rendering all tenants at once would need too much memory.
	return e
}

// want returns the tenant as it should be.
func (r *Controller) want(p *pass, template *tenantv1.TenantTemplate, of *row.Row, now *tenantv1.Tenant) (*tenantv1.Tenant, error) {
	asking := p.pools.For(of.UID, now.Spec.Allocations)
	spec, err := render.Tenant(template, *of, asking)
	if err != nil {
		asking.Undo()
		return nil, err
	}
	spec.Allocations = asking.Numbers()
	want := now.DeepCopy()
	want.Spec = *spec
	row.SetRegistry(want, p.name.Name)
	want.Labels[tenantv1.LabelUID] = of.SafeUID
	setAnnotations(want, render.Annotations(*of))
	setAnnotations(want, map[string]string{tenantv1.AnnotationTemplateGeneration: strconv.FormatInt(template.Generation, 10)})
	if want.DeletionTimestamp == nil && !slices.Contains(want.Finalizers, tenantv1.Finalizer) {
		want.Finalizers = append(want.Finalizers, tenantv1.Finalizer)
	}
	return want, nil
}

// asWanted reports whether a tenant is up to date.
func asWanted(t, want *tenantv1.Tenant) bool {
	return sameSpec(&t.Spec, &want.Spec) && equality.Semantic.DeepEqual(t.Labels, want.Labels) &&
		equality.Semantic.DeepEqual(t.Annotations, want.Annotations) && equality.Semantic.DeepEqual(t.Finalizers, want.Finalizers)
}

// sameSpec compares specs. Null fields do not count: a patch removes them.
func sameSpec(a, b *tenantv1.TenantSpec) bool {
	return equality.Semantic.DeepEqual(a, b) || equality.Semantic.DeepEqual(withoutNulls(a), withoutNulls(b))
}

func withoutNulls(s *tenantv1.TenantSpec) *tenantv1.TenantSpec {
	s = s.DeepCopy()
	for _, list := range s.Lists() {
		for i := range list.Items {
			dropNulls(list.Items[i].Spec.Object)
		}
	}
	return s
}

func dropNulls(value any) {
	switch v := value.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(_ string, field any) bool { return field == nil })
		for _, field := range v {
			dropNulls(field)
		}
	case []any:
		for _, item := range v {
			dropNulls(item)
		}
	}
}

func hasAnnotations(t *tenantv1.Tenant, wanted map[string]string) bool {
	for name, value := range wanted {
		if now, there := t.Annotations[name]; !there || now != value {
			return false
		}
	}
	return true
}

func setAnnotations(t *tenantv1.Tenant, values map[string]string) {
	if t.Annotations == nil {
		t.Annotations = map[string]string{}
	}
	maps.Copy(t.Annotations, values)
}

// timeIn reads a time from an annotation; zero without one.
func timeIn(t *tenantv1.Tenant, name string) time.Time {
	at, err := time.Parse(time.RFC3339, t.Annotations[name])
	if err != nil {
		return time.Time{}
	}
	return at
}

// isCanary reports whether a tenant gets changes first, by its own labels. An invalid selector
// selects none.
func isCanary(template *tenantv1.TenantTemplate, t *tenantv1.Tenant) bool {
	if template.Spec.Rollout == nil || template.Spec.Rollout.Canary == nil {
		return false
	}
	selector, err := metav1.LabelSelectorAsSelector(template.Spec.Rollout.Canary)
	return err == nil && selector.Matches(labels.Set(t.Labels))
}

func holdOf(h *tenantv1.HeldDeletion) *decide.Hold {
	if h == nil {
		return nil
	}
	hold := &decide.Hold{ID: h.ID, Tenants: h.Tenants, Count: int(h.Count), Message: h.Message, Confirmed: h.Confirmed, Covered: h.Covered}
	if h.Since != nil {
		hold.Since = h.Since.Time
	}
	return hold
}

func heldOf(h *decide.Hold) *tenantv1.HeldDeletion {
	if h == nil {
		return nil
	}
	held := &tenantv1.HeldDeletion{ID: h.ID, Count: int32(h.Count), Message: h.Message, Confirmed: h.Confirmed, Since: &metav1.Time{Time: h.Since}, Covered: h.Covered} //nolint:gosec // rows are bounded
	held.Tenants = slices.Clone(h.Tenants[:min(len(h.Tenants), tenantv1.MaxNamed)])
	return held
}
