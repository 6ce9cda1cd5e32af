// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenant

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/times"
	"github.com/yuba-dev/yuba/internal/objects/claims"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/tenants/decide"
	"github.com/yuba-dev/yuba/internal/tenants/ownerlabels"
	"github.com/yuba-dev/yuba/internal/tenants/passes"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/targets"
)

// pass is the state of one call of Reconcile.
type pass struct {
	// obj has the new status, before is the API's.
	obj, before *tenantv1.Tenant
	owner       owned.Owner
	now         time.Time
	memory      *memory
	lives       func(owned.Owner) bool
	plan        *plan
	home        *targets.Cluster
	// target is the cluster for kinds that this API does not serve; targetErr is its error. others
	// are earlier targets that still have objects.
	target    *targets.Cluster
	targetErr error
	others    map[string]reached
	// registryGone is the name of a registry that no longer exists.
	registryGone string
	// entries is the inventory by place.
	entries map[place]*tenantv1.AppliedResource
	// items are in order, dependencies first. lacks are API groups of kinds that are not served.
	items []*item
	lacks map[string]bool
	// going are entries being removed that still exist; leaving says why others cannot be removed
	// yet.
	going    []tenantv1.AppliedResource
	leaving  []tenantv1.WaitingResource
	decision decide.TenantDecision
	news     []news
	next     time.Time
}

// reached is a cluster or the error.
type reached struct {
	*targets.Cluster
	err error
}

// marks returns the tenant's marks for objects in a cluster.
func (p *pass) marks(c *targets.Cluster) ownerlabels.Marks {
	return ownerlabels.Marks{Tenant: p.obj, Away: c.Name != "", Seal: c.Seal, Lives: p.lives}
}

// news is an event to record after the pass.
type news struct{ kind, reason, message string }

// passTimeout bounds the requests of one pass.
const passTimeout = 2 * time.Minute

// Reconcile makes one pass over a Tenant.
func (r *Controller) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	began := r.Now()
	obj := &tenantv1.Tenant{}
	err := r.Fresh.Get(ctx, req.NamespacedName, obj)
	if apierrors.IsNotFound(err) {
		r.tellStrays(req.NamespacedName)
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if err != nil {
		return ctrl.Result{}, fmt.Errorf("read Tenant %s: %w", req.NamespacedName, err)
	}
	if obj.Spec.KubeConfig == nil {
		r.Freed(r.Clusters.Turns.Yield(req.NamespacedName))
	} else {
		if !r.Clusters.Turns.Enter(req.NamespacedName) {
			return ctrl.Result{}, nil // it waits for its turn
		}
		defer func() { r.Freed(r.Clusters.Turns.Exit()) }()
	}
	bounded, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	p := &pass{obj: obj, before: obj.DeepCopy(), owner: req.NamespacedName, now: began, home: r.Clusters.Home, lives: r.Exists,
		memory: r.memories.of(req.NamespacedName, obj.UID)}
	result, err := r.passOver(bounded, p)
	if ctx.Err() != nil {
		return ctrl.Result{}, ctx.Err()
	}
	word := "success"
	switch {
	case err != nil:
		word = "error"
	case p.decision.Failed > 0:
		word = "partial_failure"
	}
	r.observe.TenantPass(word, r.Now().Sub(began))
	return result, err
}

// passOver runs the phases of a pass.
func (r *Controller) passOver(ctx context.Context, p *pass) (ctrl.Result, error) {
	if moving.Held(p.obj) != "" {
		return ctrl.Result{}, r.leaveMoved(ctx, p)
	}
	// 1. A Tenant without a finalizer could be deleted without its objects.
	if p.obj.DeletionTimestamp.IsZero() && !slices.Contains(p.obj.Finalizers, tenantv1.Finalizer) {
		if err := r.SetFinalizers(ctx, p.obj, p.before, append(slices.Clone(p.obj.Finalizers), tenantv1.Finalizer)); err != nil {
			return reconciling.Again(client.IgnoreNotFound(err))
		}
	}
	// 2. Gather.
	p.plan = makePlan(p.obj)
	p.completeInventory()
	r.reachTargets(ctx, p)
	if !p.obj.DeletionTimestamp.IsZero() {
		return r.finalize(ctx, p)
	}
	if p.plan.invalid != "" || p.plan.graph == nil {
		return r.cannotBegin(ctx, p)
	}
	if err := r.gather(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	// 3. Decide and act until nothing is left to write: objects that are ready let others begin.
	if err := r.bringAbout(ctx, p); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	// 4. Remove objects that are no longer in the template.
	if err := r.clear(ctx, p); err != nil {
		return ctrl.Result{}, err
	}
	// 5. Record.
	p.describe()
	return r.record(ctx, p)
}

// gather gathers the facts about the tenant's objects.
func (r *Controller) gather(ctx context.Context, p *pass) error {
	registry := passes.RegistryOf(p.obj)
	err := r.Cached.Get(ctx, registry, &tenantv1.TenantRegistry{})
	switch {
	case apierrors.IsNotFound(err) && registry.Name != "":
		p.registryGone = registry.Name
	case err != nil && !apierrors.IsNotFound(err):
		return fmt.Errorf("look for TenantRegistry %s: %w", registry, err)
	}
	return p.gatherItems(ctx, r)
}

// maxRounds limits the rounds of a pass. Each writes at least one object, and no template is as
// deep.
const maxRounds = 64

// bringAbout writes objects, round by round.
func (r *Controller) bringAbout(ctx context.Context, p *pass) error {
	noted := false
	for range maxRounds {
		p.decision = decide.Tenant(p.facts(r))
		if !p.decision.Writes {
			return r.refreshCopies(ctx, p)
		}
		// Record objects before creating them: a crash must not leave unknown ones.
		if !noted && !p.begins() {
			if err := r.note(ctx, p); err != nil {
				return err
			}
			noted = true
		}
		var todo []*item
		for i, d := range p.decision.Objects {
			if d.Verb.Writes() {
				todo = append(todo, p.items[i])
			}
		}
		if err := r.writeAll(ctx, p, todo); err != nil {
			return err
		}
	}
	p.decision = decide.Tenant(p.facts(r))
	p.next = times.Earlier(p.next, p.now)
	return nil
}

// begins reports whether this is the first pass over a tenant whose spec serves as its inventory
// (see [passes.SpecIsInventory]).
func (p *pass) begins() bool {
	return p.unrecorded() && passes.SpecIsInventory(&p.obj.Spec)
}

// unrecorded reports whether the status has no inventory yet.
func (p *pass) unrecorded() bool {
	s := &p.obj.Status
	return s.ObservedGeneration == 0 && len(s.Inventory)+len(s.AppliedResources) == 0
}

// note records the objects that this pass may create.
func (r *Controller) note(ctx context.Context, p *pass) error {
	p.obj.Status.Inventory = p.inventory(true)
	if equality.Semantic.DeepEqual(p.obj.Status.Inventory, p.before.Status.Inventory) {
		return nil
	}
	p.obj.Status.AppliedResources = appliedNames(p.obj.Status.Inventory)
	setProgressing(p.obj)
	return r.patchTenant(ctx, p)
}

// inventory lists the tenant's objects, copies, and objects still to remove. planned adds those
// that do not exist yet.
func (p *pass) inventory(planned bool) []tenantv1.AppliedResource {
	var list []tenantv1.AppliedResource
	seen := map[place]bool{}
	add := func(e tenantv1.AppliedResource) {
		if at := placeOf(&e); !seen[at] {
			seen[at] = true
			list = append(list, e)
		}
	}
	copied := map[place]bool{}
	for _, it := range p.items {
		if it.broken != "" {
			continue
		}
		for _, ref := range it.copies {
			c := p.copyEntry(it.cluster, ref)
			at := placeOf(&c)
			if (planned || p.memory.copies[at].print != nil || p.entries[at] != nil) && !copied[at] {
				copied[at] = true
				add(c)
			}
		}
		// Keep objects that others took in the record, so that the tenant does not take them back.
		if planned || it.took() || it.exists() && (it.live == nil || p.marks(it.cluster).Ours(it.live)) {
			add(p.entryOf(it))
		}
	}
	for _, e := range p.obj.Status.Inventory {
		if planned || p.stays(&e) {
			add(e)
		}
	}
	return list
}

// stays reports whether an entry's object does not render now, or is being removed.
func (p *pass) stays(e *tenantv1.AppliedResource) bool {
	if slices.ContainsFunc(p.going, func(g tenantv1.AppliedResource) bool { return placeOf(&g) == placeOf(e) }) {
		return true
	}
	return slices.ContainsFunc(p.items, func(it *item) bool { return it.broken != "" && (it.id == e.ID || e.ID == copiesID) })
}

// outcome is the result of a write; copied are the copies for it.
type outcome struct {
	object *unstructured.Unstructured
	err    error
	copied map[place]duplicate
}

// writeAll writes objects, several at a time.
func (r *Controller) writeAll(ctx context.Context, p *pass, todo []*item) error {
	defer r.Writing()()
	g := errgroup.Group{}
	g.SetLimit(concurrency)
	outcomes := make([]outcome, len(todo))
	for i, it := range todo {
		g.Go(func() error {
			outcomes[i] = r.write(ctx, p, it)
			return nil
		})
	}
	_ = g.Wait()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	now := r.Now()
	for i, it := range todo {
		o := outcomes[i]
		r.result(p, it, o, now)
		word := "success"
		if o.err != nil {
			word = "error"
		}
		r.observe.TenantWrite(it.ref.GroupKind.Kind, word, string(conflictPolicyOf(it.resource)))
		if engine.IsConflict(o.err) {
			r.observe.TenantConflict(p.obj.Namespace, p.obj.Name, it.ref.GroupKind.Kind, string(conflictPolicyOf(it.resource)))
		}
	}
	return nil
}

func conflictPolicyOf(resource *tenantv1.TResource) tenantv1.ConflictPolicy {
	return cmp.Or(resource.ConflictPolicy, tenantv1.ConflictPolicyStuck)
}

// write writes one object. It runs concurrently and changes only its outcome.
func (r *Controller) write(ctx context.Context, p *pass, it *item) outcome {
	o := outcome{}
	w := r.writing(ctx, p, it.cluster, it.manifest, it.resource)
	w.Owner, w.Live, w.Was = p.owner, it.live, it.was()
	w.Left = it.live == nil && it.exists()
	w.First = func(ctx context.Context) (err error) {
		if len(it.copies) > 0 {
			o.copied, err = r.copyAll(ctx, p, it)
		}
		return err
	}
	o.object, o.err = r.engine.Write(ctx, &it.cluster.Cluster, w)
	return o
}

// writing are the engine's parameters for an object of a tenant.
func (r *Controller) writing(ctx context.Context, p *pass, c *targets.Cluster, manifest *unstructured.Unstructured, resource *tenantv1.TResource) engine.Write {
	w := engine.Write{Manifest: manifest, Ownership: p.marks(c), Strategy: engine.Strategy(resource.PatchStrategy),
		Force: resource.ConflictPolicy == tenantv1.ConflictPolicyForce, Once: resource.CreationPolicy == tenantv1.CreationPolicyOnce}
	if len(resource.IgnoreFields) > 0 {
		w.Ignore = func(manifest, live *unstructured.Unstructured) (*unstructured.Unstructured, error) {
			return render.WithIgnored(manifest, live, resource.IgnoreFields)
		}
	}
	return w
}

// claimOf is an object's place for claims, without the tenant's name of its cluster.
func claimOf(it *item) claims.Place { return it.cluster.Place(it.ref.ID) }

// claimed reports which objects are in the tenant's manifests.
func (p *pass) claimed() func(claims.Place) bool {
	wanted := map[claims.Place]bool{}
	for _, it := range p.items {
		if it.broken == "" {
			wanted[claimOf(it)] = true
		}
	}
	return func(at claims.Place) bool { return wanted[at] }
}

// record writes the status, and returns when the next pass is due.
func (r *Controller) record(ctx context.Context, p *pass) (ctrl.Result, error) {
	p.obj.Status.ObservedGeneration = p.obj.Generation
	if err := r.patchTenant(ctx, p); err != nil {
		return reconciling.Again(client.IgnoreNotFound(err))
	}
	r.sights.set(p.owner, p.sights())
	r.readers.set(p.owner, p.reads())
	p.memory.far = p.far()
	if len(p.items) > 0 {
		r.engine.Keep(p.owner, p.claimed())
		p.prune()
	}
	r.tellNews(p)
	return r.Until(p.next), nil
}

// prune forgets objects that the tenant no longer has.
func (p *pass) prune() {
	has, needed := map[string]bool{}, map[place]bool{}
	for _, it := range p.items {
		has[it.id] = true
		for _, ref := range it.copies {
			needed[place{it.cluster.Name, ref.ID}] = true
		}
	}
	for i := range p.obj.Status.Inventory {
		e := &p.obj.Status.Inventory[i]
		has[keyOf(e)], needed[placeOf(e)] = true, true
	}
	m := p.memory
	maps.DeleteFunc(m.objects, func(id string, _ *left) bool { return !has[id] })
	maps.DeleteFunc(m.refused, func(id string, _ *passes.Refusal) bool { return !has[id] })
	maps.DeleteFunc(m.quarrels, func(id string, _ *quarrel) bool { return !has[id] })
	maps.DeleteFunc(m.copies, func(at place, _ duplicate) bool { return !needed[at] })
	maps.DeleteFunc(m.told, func(about, _ string) bool {
		id, _, _ := strings.Cut(about, " ")
		return !has[id]
	})
}

// tellNews records the events of a pass.
func (r *Controller) tellNews(p *pass) {
	for _, n := range p.news {
		kind := n.kind
		if kind == "" {
			kind = corev1.EventTypeNormal
		}
		r.Event(p.obj, kind, n.reason, n.message)
	}
}
