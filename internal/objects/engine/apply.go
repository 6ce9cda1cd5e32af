// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	"github.com/fluxcd/pkg/ssa/utils"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/objects/claims"
)

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

// Prepare makes objects what is applied: normalized, labelled with their owner, in the order of their kinds. The error names an
// object that cannot be applied at all.
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
		wanted[c.Place(idOf(u))] = true
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
