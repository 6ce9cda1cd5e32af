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
	"github.com/yuba-dev/yuba/internal/kit/moment"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// pass is what one pass over a registry knows.
type pass struct {
	name types.NamespacedName
	// obj is nil when the registry is gone; before is it as it is in the API.
	obj, before *tenantv1.TenantRegistry
	account     *account
	now         time.Time
	// reading is the last one of the registry as it is now; nil when there is none. fresh is true when
	// this pass is the first to see it.
	reading *reading
	fresh   bool
	// rows are those of the last good reading, by uid.
	rows      map[string]*row.Row
	templates map[string]*tenantv1.TenantTemplate
	// tenants are by name, as they were written last.
	tenants map[string]*tenantv1.Tenant
	pools   *allocate.Pools
	// broken says, by name, why a tenant cannot be what it should be.
	broken map[string]string
	// unmade says which tenants could not be made or changed, by template, and why.
	unmade   map[string]map[string]string
	decision decide.RegistryDecision
	// tried are the changes that were due, refusedUntil when the first of those that could not be made
	// is tried again. stale is true when some tenants were not as they were thought to be.
	tried        map[string]bool
	refusedUntil time.Time
	stale        bool
	// unheard is when to look for tenants that the cache has not heard of.
	unheard time.Time
	// leaving is the registry while it is being deleted.
	leaving *tenantv1.TenantRegistry
	// more is true when there is more to do than one pass may.
	more bool
	// recentUntil is when the first of those who were told to go a moment ago counts no more.
	recentUntil time.Time
}

// gather reads what there is of a registry's templates and tenants. It asks the cache only.
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

// tenantsOf lists a registry's tenants: those of its templates, whatever they say of themselves,
// and those that say that they are the registry's and whose template is gone. One whose template is
// another registry's is that one's, and must not be taken for an orphan.
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

// lay puts what was written here over what the cache has, as long as that is older.
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
			delete(a.overlay, name) // somebody has deleted it since the cache had it
		case t == nil, owned.Older(t.ResourceVersion, w.tenant.ResourceVersion):
			tenants[name] = w.tenant
		default:
			delete(a.overlay, name)
		}
	}
	return tenants
}

// cacheLag is longer than a cache takes to hear of what was made.
const cacheLag = 5 * time.Second

// vanish forgets tenants that were made here and that the cache should have by now: somebody has
// deleted them before it could hear of them. It tells when to look at the others.
func (r *Controller) vanish(ctx context.Context, p *pass) (next time.Time) {
	asked := 0
	for name, w := range p.account.overlay {
		due := w.at.Add(cacheLag)
		switch {
		case w.known || w.deleted:
		case p.now.Before(due):
			next = moment.Earlier(next, due)
		case asked < tenantWrites:
			asked++
			if apierrors.IsNotFound(r.Reader.Get(ctx, client.ObjectKeyFromObject(w.tenant), &tenantv1.Tenant{})) {
				delete(p.account.overlay, name)
				delete(p.tenants, name)
				continue
			}
			fallthrough
		default:
			next = moment.Earlier(next, p.now.Add(cacheLag))
		}
	}
	return next
}

// wrote takes note of a tenant as the API answered.
func (a *account) wrote(t *tenantv1.Tenant, created bool, now time.Time) {
	a.overlay[t.Name] = written{tenant: t, known: !created, at: now}
}

// deleted takes note of a tenant that was told to go.
func (a *account) deleted(t *tenantv1.Tenant, now time.Time) {
	t = t.DeepCopy()
	t.DeletionTimestamp = &metav1.Time{Time: now}
	a.overlay[t.Name] = written{tenant: t, deleted: true}
}

// facts are what is decided on.
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

// longestMoment is how long rows that vanish one after the other count as vanished at once.
const longestMoment = 30 * time.Second

// moment is the same for a registry: who reads its rows on its interval alone sees all that vanish
// within one at once.
func (p *pass) moment() time.Duration {
	if p.obj == nil {
		return longestMoment
	}
	return min(p.obj.Spec.Source.Interval(), longestMoment)
}

// templateFacts say how a template stands. What was found out last may not have reached its status
// yet.
func (r *Controller) templateFacts(p *pass, t *tenantv1.TenantTemplate) decide.Template {
	var last decide.Last
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

// rolloutBefore is how far a template's change was at the last pass; nil when that is not known.
func (r *Controller) rolloutBefore(p *pass, t *tenantv1.TenantTemplate) *tenantv1.RolloutStatus {
	if told := r.Findings.Told(p.name, t); told.Rollout != nil {
		return told.Rollout
	}
	return t.Status.Rollout
}

// existing says how a tenant stands, and finds out what it should be.
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
		// It waits for its turn; what it will be then is made then.
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
		// With the same values: another template of its name counts its generations anew, or this server
		// makes something else of it.
		e.TemplateCurrent = false
	}
	// What it should be is made again when it is written: all of a large registry at once would take
	// much memory.
	return e
}

// want makes what a tenant should be, from what it is.
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

// asWanted tells whether a tenant is what it should be.
func asWanted(t, want *tenantv1.Tenant) bool {
	return sameSpec(&t.Spec, &want.Spec) && equality.Semantic.DeepEqual(t.Labels, want.Labels) &&
		equality.Semantic.DeepEqual(t.Annotations, want.Annotations) && equality.Semantic.DeepEqual(t.Finalizers, want.Finalizers)
}

// sameSpec compares specs. Fields that are null make no difference: a patch takes them away.
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

// timeIn reads a time that an annotation has; zero when there is none.
func timeIn(t *tenantv1.Tenant, name string) time.Time {
	at, err := time.Parse(time.RFC3339, t.Annotations[name])
	if err != nil {
		return time.Time{}
	}
	return at
}

// isCanary tells whether a tenant gets changes first. The labels that count are the tenant's own; a
// selector that cannot be read selects nobody.
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
