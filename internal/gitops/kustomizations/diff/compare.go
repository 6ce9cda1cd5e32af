// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package diff

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fluxcd/cli-utils/pkg/object"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/jsondiff"
	"github.com/fluxcd/pkg/ssa/normalize"
	ssautil "github.com/fluxcd/pkg/ssa/utils"
	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decrypt"
)

// Action is the effect on an object.
type Action string

// The actions.
const (
	Created    Action = "created"
	Configured Action = "drifted"
	Deleted    Action = "deleted"
	Skipped    Action = "skipped"
	Unchanged  Action = "unchanged"
)

// Change is the effect on one object.
type Change struct {
	Action Action `json:"action"`
	// Object is the object's name: Kind/namespace/name.
	Object string `json:"object"`
	// Fields are the changed fields of a configured object.
	Fields []Field `json:"fields,omitempty"`
}

// concurrency is the number of concurrent requests.
const concurrency = 8

const (
	group   = "kustomize.toolkit.fluxcd.io"
	manager = "kustomize-controller"
)

// Compare returns what applying objects would change, by dry runs. It adds labels to the objects,
// and finds deletions in the inventory of owner's status.
func Compare(ctx context.Context, api client.Client, owner *kustomizev1.Kustomization, objects []*unstructured.Unstructured) ([]Change, error) {
	if err := normalize.UnstructuredList(objects); err != nil {
		return nil, fmt.Errorf("prepare the objects: %w", err)
	}
	resources := ssa.NewResourceManager(api, nil, ssa.Owner{Field: manager, Group: group})
	resources.SetOwnerLabels(objects, owner.Name, owner.Namespace)
	c := &comparer{api: api, owner: owner, resources: resources, built: builtOf(objects)}
	changes, errs := make([]Change, len(objects)), make([]error, len(objects))
	var g errgroup.Group
	g.SetLimit(concurrency)
	for i, u := range objects {
		g.Go(func() error {
			changes[i], errs[i] = c.compare(ctx, u)
			return nil
		})
	}
	// The functions store their errors, to report all of them.
	_ = g.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	gone, err := c.deletions(ctx)
	return append(changes, gone...), err
}

// built is the content of a build.
type built struct {
	ids        map[object.ObjMetadata]bool
	namespaces map[string]bool
	kinds      map[schema.GroupKind]bool
}

func builtOf(objects []*unstructured.Unstructured) built {
	b := built{ids: map[object.ObjMetadata]bool{}, namespaces: map[string]bool{}, kinds: map[schema.GroupKind]bool{}}
	for _, u := range objects {
		b.ids[object.UnstructuredToObjMetadata(u)] = true
		if ssautil.IsNamespace(u) {
			b.namespaces[u.GetName()] = true
		}
		if ssautil.IsCRD(u) {
			g, _, _ := unstructured.NestedString(u.Object, "spec", "group")
			k, _, _ := unstructured.NestedString(u.Object, "spec", "names", "kind")
			b.kinds[schema.GroupKind{Group: g, Kind: k}] = true
		}
	}
	return b
}

type comparer struct {
	api       client.Client
	owner     *kustomizev1.Kustomization
	resources *ssa.ResourceManager
	built     built
}

func (c *comparer) compare(ctx context.Context, u *unstructured.Unstructured) (Change, error) {
	change := Change{Action: Created, Object: ssautil.FmtUnstructured(u)}
	if err := c.unmask(ctx, u); err != nil {
		return change, err
	}
	entry, live, merged, err := c.resources.Diff(ctx, u, c.options())
	switch {
	case meta.IsNoMatchError(errors.Unwrap(err)) || meta.IsNoMatchError(err):
		if c.built.kinds[u.GroupVersionKind().GroupKind()] {
			return change, nil
		}
		return change, fmt.Errorf("compare %s: the API does not serve the kind %s of %s", change.Object, u.GetKind(), u.GetAPIVersion())
	case apierrors.IsNotFound(err) && c.built.namespaces[u.GetNamespace()]:
		// The build also creates its namespace.
		return change, nil
	case err != nil:
		return change, fmt.Errorf("compare %s: %w", change.Object, err)
	}
	switch entry.Action {
	case ssa.CreatedAction:
	case ssa.ConfiguredAction:
		change.Action = Configured
		change.Fields = fieldsOf(live, merged)
	case ssa.SkippedAction:
		change.Action = Skipped
	default:
		change.Action = Unchanged
	}
	return change, nil
}

// options returns the options of the controller.
func (c *comparer) options() ssa.DiffOptions {
	return ssa.DiffOptions{
		Exclusions:           map[string]string{group + "/reconcile": "disabled", group + "/ssa": "Ignore"},
		IfNotPresentSelector: map[string]string{group + "/ssa": "IfNotPresent"},
		Force:                c.owner.Spec.Force,
		ForceSelector:        map[string]string{group + "/force": "enabled"},
		DriftIgnoreRules:     IgnoreRules(c.owner),
	}
}

// IgnoreRules returns the rules of spec.ignore.
func IgnoreRules(obj *kustomizev1.Kustomization) []jsondiff.IgnoreRule {
	var rules []jsondiff.IgnoreRule
	for _, rule := range obj.Spec.Ignore {
		ignored := jsondiff.IgnoreRule{Paths: rule.Paths}
		if t := rule.Target; t != nil {
			ignored.Selector = &jsondiff.Selector{Group: t.Group, Version: t.Version, Kind: t.Kind, Name: t.Name, Namespace: t.Namespace,
				AnnotationSelector: t.AnnotationSelector, LabelSelector: t.LabelSelector}
		}
		rules = append(rules, ignored)
	}
	return rules
}

// unmask replaces masks of an encrypted build by live values: their changes cannot be detected.
func (c *comparer) unmask(ctx context.Context, u *unstructured.Unstructured) error {
	if !hasMask(u.Object) {
		return nil
	}
	live := &unstructured.Unstructured{}
	live.SetGroupVersionKind(u.GroupVersionKind())
	if err := c.api.Get(ctx, client.ObjectKeyFromObject(u), live); err != nil {
		if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
			return nil
		}
		return fmt.Errorf("read %s: %w", ssautil.FmtUnstructured(u), err)
	}
	unmasked(u.Object, live.Object)
	return nil
}

func hasMask(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			if hasMask(v) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(value, hasMask)
	}
	return decrypt.IsMask(value)
}

func unmasked(value, live any) any {
	switch v := value.(type) {
	case map[string]any:
		known, _ := live.(map[string]any)
		for key := range v {
			v[key] = unmasked(v[key], known[key])
		}
	case []any:
		known, _ := live.([]any)
		for i := range v {
			if i < len(known) {
				v[i] = unmasked(v[i], known[i])
			}
		}
	default:
		if decrypt.IsMask(value) && live != nil {
			return live
		}
	}
	return value
}

// deletions returns the objects of the inventory that are not in the build.
func (c *comparer) deletions(ctx context.Context) ([]Change, error) {
	inventory := c.owner.Status.Inventory
	if !c.owner.Spec.Prune || inventory == nil {
		return nil, nil
	}
	var gone []Change
	for _, entry := range inventory.Entries {
		id, err := object.ParseObjMetadata(entry.ID)
		if err != nil {
			return nil, fmt.Errorf("read the inventory of Kustomization %s/%s: entry %q: %w", c.owner.Namespace, c.owner.Name, entry.ID, err)
		}
		if c.built.ids[id] {
			continue
		}
		live := &metav1.PartialObjectMetadata{}
		live.SetGroupVersionKind(id.GroupKind.WithVersion(entry.Version))
		err = c.api.Get(ctx, client.ObjectKey{Namespace: id.Namespace, Name: id.Name}, live)
		switch {
		case apierrors.IsNotFound(err) || meta.IsNoMatchError(err):
			continue
		case err != nil:
			return nil, fmt.Errorf("read %s: %w", ssautil.FmtObjMetadata(id), err)
		}
		if c.stays(live) {
			continue
		}
		gone = append(gone, Change{Action: Deleted, Object: ssautil.FmtObjMetadata(id)})
	}
	return gone, nil
}

// stays reports whether an object is not pruned: it excludes itself, or has another owner.
func (c *comparer) stays(live *metav1.PartialObjectMetadata) bool {
	for _, marks := range []map[string]string{live.Labels, live.Annotations} {
		if marks[group+"/prune"] == "disabled" || marks[group+"/reconcile"] == "disabled" {
			return true
		}
	}
	return live.Labels[group+"/name"] != c.owner.Name || live.Labels[group+"/namespace"] != c.owner.Namespace
}
