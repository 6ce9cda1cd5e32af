// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/metadata"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// Policy is how the owners of one kind mark and treat objects. Its texts are in the API, so they
// never change.
type Policy struct {
	// Kind is what messages call an owner: Kustomization.
	Kind string
	// Namespace is the field of an owner with the namespace of its batches, for messages.
	Namespace string
	// Manager is the field manager of everything that is written.
	Manager string
	// Group is the prefix of the labels name and namespace, which name the owner of an object that
	// [Engine.Apply] wrote, and of Flux's annotations for users: ssa, reconcile, prune and force.
	Group string
}

const (
	// keyInstalled is on the kinds that this server installs. No owner may change or delete them,
	// for example with definitions of another version: all objects of the kind would go with one.
	keyInstalled = "yuba.dev/installed-from"

	valueDisabled, valueEnabled                = "disabled", "enabled"
	valueMerge, valueIfNotPresent, valueIgnore = "Merge", "IfNotPresent", "Ignore"
)

func (p *Policy) labelName() string      { return p.Group + "/name" }
func (p *Policy) labelNamespace() string { return p.Group + "/namespace" }
func (p *Policy) keySSA() string         { return p.Group + "/ssa" }
func (p *Policy) keyReconcile() string   { return p.Group + "/reconcile" }
func (p *Policy) keyPrune() string       { return p.Group + "/prune" }
func (p *Policy) keyForce() string       { return p.Group + "/force" }

// The nouns of package owned, so that a controller needs only this package.
type (
	// ID names an object.
	ID = owned.ID
	// Owner names an object that owns others.
	Owner = owned.Owner
	// Ref is an object of an inventory: its name and the version of its kind.
	Ref = owned.Ref
	// Print tells whether an object was changed.
	Print = owned.Print
	// Watch follows the metadata of owned objects.
	Watch = owned.Watch
)

// Name returns Kind/namespace/name, for people.
func Name(id ID) string { return owned.Name(id) }

// PrintOf is an object's print.
func PrintOf(o metav1.Object) Print { return owned.PrintOf(o) }

// Older reports whether a version of an object precedes another.
func Older(version, than string) bool { return owned.Older(version, than) }

// OwnerOf returns the owner that an object's labels name; ok is false without them.
func (p *Policy) OwnerOf(o metav1.Object) (owner Owner, ok bool) {
	labels := o.GetLabels()
	owner = Owner{Namespace: labels[p.labelNamespace()], Name: labels[p.labelName()]}
	return owner, owner.Name != "" && owner.Namespace != ""
}

// NewWatch returns a watch of the objects whose labels name an owner. Its informers end with ctx.
// changed is called for every change, with nil when an object is gone; it must not block.
func (p *Policy) NewWatch(ctx context.Context, client metadata.Interface, mapper meta.RESTMapper,
	changed func(owner Owner, id ID, now *metav1.PartialObjectMetadata)) *Watch {
	return owned.NewWatch(ctx, owned.Options{Metadata: client, Mapper: mapper, Selector: p.labelName(), Changed: changed,
		Owners: func(_ ID, o metav1.Object) []Owner {
			if owner, ok := p.OwnerOf(o); ok {
				return []Owner{owner}
			}
			return nil
		}})
}

func (p *Policy) ownedBy(o metav1.Object, owner Owner) bool {
	labelled, ok := p.OwnerOf(o)
	return ok && labelled == owner
}

func (p *Policy) setOwner(u *unstructured.Unstructured, owner Owner) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[p.labelName()], labels[p.labelNamespace()] = owner.Name, owner.Namespace
	u.SetLabels(labels)
}

// says reports whether a label or an annotation of an object has a value.
func says(o metav1.Object, key, value string) bool {
	return o.GetAnnotations()[key] == value || o.GetLabels()[key] == value
}

// excluded reports whether people (or the server itself) maintain an object.
func (p *Policy) excluded(o metav1.Object) bool {
	return says(o, p.keyReconcile(), valueDisabled) || says(o, p.keySSA(), valueIgnore) || installed(o)
}

// stays reports whether an object must not be pruned.
func (p *Policy) stays(o metav1.Object) bool {
	return says(o, p.keyPrune(), valueDisabled) || p.excluded(o)
}

// installed reports whether the server itself installed an object.
func installed(o metav1.Object) bool { return o.GetAnnotations()[keyInstalled] != "" }
