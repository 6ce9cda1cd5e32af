// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	"golang.org/x/sync/errgroup"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/objects/claims"
)

// Cluster is the API that objects are applied to.
type Cluster struct {
	// Name tells clusters apart; empty for the API that this server belongs to.
	Name string
	// Client has the rights of whom the objects are applied for.
	Client client.Client
	Mapper meta.RESTMapper
	// Own reads with all rights; nil when the server has none there.
	Own client.Reader
	// Watch follows the owned objects; nil when the cluster is not watched.
	Watch *Watch
}

// Owners is what the engine has to know of Kustomizations.
type Owners interface {
	// Exists says whether there is such a Kustomization, Counts whether the object is in its inventory.
	Exists(owner Owner) bool
	Counts(owner Owner, id ID) bool
	// Freed tells owners that an object which they wait for may be free.
	Freed(owners []Owner)
}

// Engine applies and deletes objects. It knows which owner has which object.
type Engine struct {
	policy Policy
	owners Owners
	claims *claims.Book
}

// New makes an engine.
func New(policy Policy, owners Owners) *Engine {
	return &Engine{policy: policy, owners: owners, claims: claims.New()}
}

// Request asks for objects to be applied.
type Request struct {
	Owner Owner
	// Objects are the manifests, which the engine may change.
	Objects []*unstructured.Unstructured
	// Known is what is remembered of objects that were applied before. Those that are as they were left are not applied
	// again, unless Full is true.
	Known map[ID]Applied
	Full  bool
	// Force makes objects anew whose fields cannot be changed, and takes them from other owners.
	Force bool
	// Ignore are the fields that others may change.
	Ignore []jsondiff.IgnoreRule
}

// Applied is what is to be remembered of an object.
type Applied struct {
	// Digest stands for the manifest, Print for the object as it was left.
	Digest [sha256.Size]byte
	Print  Print
	// Skipped is true when the object was left alone because it, or its manifest, says so.
	Skipped bool
}

// Outcome is what happened to an object.
type Outcome struct {
	Ref
	Applied
	Action ssa.Action
	// Live is the object as the API answered; nil when it was not asked or answered with less.
	Live *unstructured.Unstructured
	// Installed is true when it was left alone because the server itself brings it along.
	Installed bool
}

// Conflict is an object that another Kustomization owns.
type Conflict struct {
	ID     ID
	Holder Owner
}

// Report is what became of a request; after an error what was done before it.
type Report struct {
	Outcomes  []Outcome
	Conflicts []Conflict
	// Maybe are objects that may have been written: the API did not answer.
	Maybe []Ref
}

// Present are the objects that are there after the request, or may be.
func (r *Report) Present() []Ref {
	refs := slices.Clone(r.Maybe)
	for _, o := range r.Outcomes {
		refs = append(refs, o.Ref)
	}
	return refs
}

// Installed lists what was left alone because the server itself brings it along.
func (r *Report) Installed() []string {
	var names []string
	for _, o := range r.Outcomes {
		if o.Installed {
			names = append(names, Name(o.ID))
		}
	}
	return names
}

// Changed lists what was created or changed, a line for each object: Kind/namespace/name action.
func (r *Report) Changed() []string {
	var lines []string
	for _, o := range r.Outcomes {
		if o.Action == ssa.CreatedAction || o.Action == ssa.ConfiguredAction {
			lines = append(lines, Name(o.ID)+" "+string(o.Action))
		}
	}
	return lines
}

const (
	// concurrency is how many requests of one Kustomization are on their way to a remote cluster at a time, as many as
	// Flux has.
	concurrency = 4
	// ownConcurrency is the same for our own API: what waits for the disk there is written together.
	ownConcurrency = 12
)

func (c *Cluster) concurrency() int {
	if c.Name == "" {
		return ownConcurrency
	}
	return concurrency
}

func (c *Cluster) place(id ID) claims.Place { return claims.Place{Cluster: c.Name, ID: id} }

// Prepare makes the objects what is applied: normalized, labelled with their owner, in the order of their kinds. It names
// what cannot be applied at all.
func (p *Policy) Prepare(objects []*unstructured.Unstructured, owner Owner, mapper meta.RESTMapper) error {
	if err := normalize.UnstructuredList(objects); err != nil {
		return err
	}
	seen := map[ID]bool{}
	for _, u := range objects {
		utils.RemoveCABundleFromCRD(u)
		p.setOwner(u, owner)
		if mapping, err := mapper.RESTMapping(u.GroupVersionKind().GroupKind(), u.GroupVersionKind().Version); err == nil && isRoot(mapping) {
			u.SetNamespace("")
		}
		id := idOf(u)
		if seen[id] {
			return fmt.Errorf("%s is there twice", Name(id))
		}
		seen[id] = true
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		switch s := (ssa.SortableUnstructureds{a, b}); {
		case s.Less(0, 1):
			return -1
		case s.Less(1, 0):
			return 1
		}
		return 0
	})
	return nil
}

// RefsOf names prepared objects as an inventory does.
func RefsOf(objects []*unstructured.Unstructured) []Ref {
	refs := make([]Ref, 0, len(objects))
	for _, u := range objects {
		refs = append(refs, Ref{ID: idOf(u), Version: u.GroupVersionKind().Version})
	}
	return refs
}

// Apply brings prepared objects to the cluster, in stages: definitions and namespaces, classes, everything else.
func (e *Engine) Apply(ctx context.Context, c *Cluster, req Request) (*Report, error) {
	r := &Report{}
	wanted := map[claims.Place]bool{}
	for _, u := range req.Objects {
		wanted[c.place(idOf(u))] = true
	}
	// What it waited for and does not want any more is nobody's business.
	e.claims.Want(req.Owner, func(at claims.Place) bool { return wanted[at] })
	defined := false
	for _, objects := range stages(req.Objects) {
		if len(objects) == 0 {
			continue
		}
		s := &stage{engine: e, cluster: c, req: &req, report: r, defined: defined}
		if err := s.run(ctx, objects); err != nil {
			return r, err
		}
		created, err := awaitDefinitions(ctx, c, s.items)
		if err != nil {
			return r, err
		}
		defined = defined || created
	}
	return r, nil
}

// stages splits the objects, which stay in their order.
func stages(objects []*unstructured.Unstructured) [3][]*unstructured.Unstructured {
	var out [3][]*unstructured.Unstructured
	for _, u := range objects {
		at := 2
		switch {
		case utils.IsClusterDefinition(u):
			at = 0
		case utils.IsClassDefinition(u):
			at = 1
		}
		out[at] = append(out[at], u)
	}
	return out
}

// stage is one stage of a request.
type stage struct {
	engine  *Engine
	cluster *Cluster
	req     *Request
	report  *Report
	// defined is true when an earlier stage made definitions that the API may not serve yet.
	defined bool
	items   []*item
}

func (s *stage) policy() *Policy { return &s.engine.policy }

// run tries the objects of the stage, and changes them when the API refuses none.
func (s *stage) run(ctx context.Context, objects []*unstructured.Unstructured) error {
	if err := s.follow(ctx, objects); err != nil {
		return err
	}
	var todo []*item
	for _, u := range objects {
		it, err := s.classify(ctx, u)
		if err != nil {
			return err
		}
		if it == nil {
			continue
		}
		s.items = append(s.items, it)
		if it.action == "" {
			todo = append(todo, it)
		}
	}
	s.findAbsent(ctx, todo)
	err := s.each(ctx, todo, s.try)
	// What is new comes first: when the API refuses one of those, nothing that was there has changed.
	if err == nil {
		err = s.each(ctx, filter(todo, false), s.change)
	}
	if err == nil {
		err = s.each(ctx, filter(todo, true), s.change)
	}
	for _, it := range s.items {
		if it.maybe {
			s.report.Maybe = append(s.report.Maybe, Ref{ID: it.id, Version: it.manifest.GroupVersionKind().Version})
			continue
		}
		if it.action == "" {
			s.giveUp(it)
			continue
		}
		s.report.Outcomes = append(s.report.Outcomes, it.outcome())
	}
	return err
}

// filter lists the items that existed, or those that did not.
func filter(items []*item, existed bool) []*item {
	return slices.DeleteFunc(slices.Clone(items), func(it *item) bool { return it.existed != existed })
}

// maxErrors is how many refused objects an error tells of.
const maxErrors = 5

// each does something with all items, some at a time, and joins the errors.
func (s *stage) each(ctx context.Context, items []*item, do func(context.Context, *item) error) error {
	g := errgroup.Group{}
	g.SetLimit(s.cluster.concurrency())
	errs := make([]error, len(items))
	for i, it := range items {
		if it.action != "" {
			continue
		}
		g.Go(func() error {
			errs[i] = do(ctx, it)
			return nil
		})
	}
	_ = g.Wait()
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more objects", more))
	}
	return errors.Join(errs...)
}

// definitionTimeout is how long the API may take to serve a kind that was just defined.
const definitionTimeout = 30 * time.Second

// follow watches the kinds of the stage, and names those that the API does not have.
func (s *stage) follow(ctx context.Context, objects []*unstructured.Unstructured) error {
	kinds := map[schema.GroupKind]string{}
	for _, u := range objects {
		kinds[u.GroupVersionKind().GroupKind()] = u.GroupVersionKind().Version
	}
	try := func() error {
		for kind, version := range kinds {
			if _, err := s.cluster.Mapper.RESTMapping(kind, version); err != nil {
				return err
			}
		}
		return nil
	}
	err := try()
	if s.defined && meta.IsNoMatchError(err) {
		ctx, cancel := context.WithTimeout(ctx, definitionTimeout)
		defer cancel()
		_ = waitFor(ctx, func() bool { err = try(); return !meta.IsNoMatchError(err) })
	}
	if meta.IsNoMatchError(err) {
		return s.unserved(objects, err)
	}
	if err != nil {
		return fmt.Errorf("ask the API for its kinds: %w", err)
	}
	if s.cluster.Watch == nil {
		return nil
	}
	return s.cluster.Watch.Follow(ctx, s.req.Owner, kinds)
}

// unserved names the kinds that the API does not have, each with the first object of it. They stand in the order of the
// objects, so that the message is the same at each attempt.
func (s *stage) unserved(objects []*unstructured.Unstructured, err error) error {
	seen := map[schema.GroupKind]bool{}
	var errs []error
	for _, u := range objects {
		gvk := u.GroupVersionKind()
		if seen[gvk.GroupKind()] {
			continue
		}
		seen[gvk.GroupKind()] = true
		if _, err := s.cluster.Mapper.RESTMapping(gvk.GroupKind(), gvk.Version); meta.IsNoMatchError(err) {
			errs = append(errs, fmt.Errorf("%s dry-run failed: %w", Name(idOf(u)), err))
		}
	}
	if len(errs) == 0 {
		// It was defined between the two looks.
		return fmt.Errorf("ask the API for its kinds: %w", err)
	}
	if more := len(errs) - maxErrors; more > 0 {
		errs = append(errs[:maxErrors], fmt.Errorf("and %d more kinds", more))
	}
	return errors.Join(errs...)
}

// giveUp lets go of an object that was not made.
func (s *stage) giveUp(it *item) {
	if it.existed {
		return
	}
	if _, had := s.req.Known[it.id]; !had {
		s.engine.owners.Freed(s.engine.claims.Release(s.cluster.place(it.id), s.req.Owner))
	}
}

// Keep says that an owner has these objects of the watched cluster and no others.
func (c *Cluster) Keep(owner Owner, refs []Ref) {
	if c.Watch == nil {
		return
	}
	kinds := map[schema.GroupKind]string{}
	for _, r := range refs {
		kinds[r.GroupKind] = r.Version
	}
	c.Watch.Keep(owner, kinds)
}

// Forget drops all that is known of an owner that is gone.
func (e *Engine) Forget(owner Owner) {
	e.owners.Freed(e.claims.Forget(owner))
}
