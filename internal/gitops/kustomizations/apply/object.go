// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// What Flux's kustomize-controller writes into the objects that it applies.
const (
	// Manager owns the fields that are applied.
	Manager = "kustomize-controller"
	group   = "kustomize.toolkit.fluxcd.io"

	labelName      = group + "/name"
	labelNamespace = group + "/namespace"

	keySSA       = group + "/ssa"
	keyReconcile = group + "/reconcile"
	keyPrune     = group + "/prune"
	keyForce     = group + "/force"

	// keyInstalled is on the kinds that this server brings along. Deleting one deletes all objects of the kind: trees with
	// the definitions of another version must neither change them nor, when they lose them, take them away.
	keyInstalled = "yuba.dev/installed-from"

	valueDisabled, valueEnabled                = "disabled", "enabled"
	valueMerge, valueIfNotPresent, valueIgnore = "Merge", "IfNotPresent", "Ignore"
)

// What is known of objects that somebody owns.
type (
	// ID names an object.
	ID = owned.ID
	// Owner names a Kustomization.
	Owner = owned.Owner
	// Ref is an object of an inventory: its name and the version of its kind.
	Ref = owned.Ref
	// Print tells whether an object was changed.
	Print = owned.Print
	// Watch follows the metadata of the objects that Kustomizations own.
	Watch = owned.Watch
)

// Name is how people read an object's name: Kind/namespace/name.
func Name(id ID) string { return owned.Name(id) }

// PrintOf is an object's print.
func PrintOf(o metav1.Object) Print { return owned.PrintOf(o) }

// Older tells whether a version of an object is from before another.
func Older(version, than string) bool { return owned.Older(version, than) }

func marks(o metav1.Object) [sha256.Size]byte { return owned.Marks(o) }

func digestOf(u *unstructured.Unstructured) ([sha256.Size]byte, error) { return owned.Digest(u) }

func idOf(u *unstructured.Unstructured) ID { return owned.IDOf(u) }

// OwnerOf says who owns an object; ok is false when nobody does.
func OwnerOf(o metav1.Object) (Owner, bool) {
	labels := o.GetLabels()
	owner := Owner{Namespace: labels[labelNamespace], Name: labels[labelName]}
	return owner, owner.Name != "" && owner.Namespace != ""
}

func setOwner(u *unstructured.Unstructured, owner Owner) {
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[labelName], labels[labelNamespace] = owner.Name, owner.Namespace
	u.SetLabels(labels)
}

// says tells whether an object's labels or annotations have a value.
func says(o metav1.Object, key, value string) bool {
	return o.GetAnnotations()[key] == value || o.GetLabels()[key] == value
}

// excluded: who maintains the object by hand has said so on the object or in its manifest, or the server maintains it.
func excluded(o metav1.Object) bool {
	return says(o, keyReconcile, valueDisabled) || says(o, keySSA, valueIgnore) || installed(o)
}

// installed tells whether an object is one that the server itself brings along.
func installed(o metav1.Object) bool { return o.GetAnnotations()[keyInstalled] != "" }
