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
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// Request is a batch of objects to apply.
type Request struct {
	Owner Owner
	// Objects are prepared manifests. The engine may change them.
	Objects []*unstructured.Unstructured
	// Known are earlier outcomes. Unless Full is true, unchanged objects are skipped.
	Known map[ID]Applied
	Full  bool
	// Force recreates objects with immutable fields, and takes objects from other owners.
	Force bool
	// Ignore lists the fields that others may change.
	Ignore []jsondiff.IgnoreRule
}

// Applied is the data about an object that the caller must remember.
type Applied struct {
	// Digest identifies the manifest, Print the object after the last write.
	Digest [sha256.Size]byte
	Print  Print
	// Skipped is true if an annotation of the object or its manifest prevented the apply.
	Skipped bool
}

// Outcome is the result for an object.
type Outcome struct {
	Ref
	Applied
	Action ssa.Action
	// Live is the answer of the API; nil without a request or a complete answer.
	Live *unstructured.Unstructured
	// Installed is true when it was skipped because the server itself installed it.
	Installed bool
}

// Conflict is an object that another owner has.
type Conflict struct {
	ID     ID
	Holder Owner
}

// Report is the result of a request. After an error it has the results until then.
type Report struct {
	Outcomes  []Outcome
	Conflicts []Conflict
	// Maybe are objects that may have been written: the API did not answer.
	Maybe []Ref
}

// Present lists the objects that exist after the request, or may exist.
func (r *Report) Present() []Ref {
	refs := slices.Clone(r.Maybe)
	for _, o := range r.Outcomes {
		refs = append(refs, o.Ref)
	}
	return refs
}

// Installed lists the objects that were skipped because the server itself installed them.
func (r *Report) Installed() []string {
	var names []string
	for _, o := range r.Outcomes {
		if o.Installed {
			names = append(names, Name(o.ID))
		}
	}
	return names
}

// Changed lists created and changed objects, a line each: Kind/namespace/name action.
func (r *Report) Changed() []string {
	var lines []string
	for _, o := range r.Outcomes {
		if o.Action == ssa.CreatedAction || o.Action == ssa.ConfiguredAction {
			lines = append(lines, Name(o.ID)+" "+string(o.Action))
		}
	}
	return lines
}

// Prepare normalizes objects, labels them with their owner, and orders them by kind. The error
// names an object that cannot be applied at all.
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
		id := owned.IDOf(u)
		if seen[id] {
			return fmt.Errorf("%s occurs twice", Name(id))
		}
		seen[id] = true
	}
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return inOrder(owned.IDOf(a), owned.IDOf(b))
	})
	return nil
}

// inOrder compares by kind: an object is applied after those that it may need, and deleted before
// them.
func inOrder(a, b ID) int {
	switch s := (ssa.SortableMetas{a, b}); {
	case s.Less(0, 1):
		return -1
	case s.Less(1, 0):
		return 1
	}
	return 0
}

// RefsOf names prepared objects for an inventory.
func RefsOf(objects []*unstructured.Unstructured) []Ref {
	refs := make([]Ref, 0, len(objects))
	for _, u := range objects {
		refs = append(refs, refOf(u))
	}
	return refs
}

func refOf(u *unstructured.Unstructured) Ref {
	return Ref{ID: owned.IDOf(u), Version: u.GroupVersionKind().Version}
}

// Apply applies prepared objects in stages: definitions and namespaces, classes, everything else.
// It returns a report with every error.
func (e *Engine) Apply(ctx context.Context, c *Cluster, req Request) (*Report, error) {
	r := &Report{}
	wanted := map[claims.Place]bool{}
	for _, u := range req.Objects {
		wanted[c.Place(owned.IDOf(u))] = true
	}
	// The owner no longer waits for other objects.
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

// stages splits the objects and keeps their order.
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
