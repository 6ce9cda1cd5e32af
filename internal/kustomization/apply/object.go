// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sort"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
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

// ID names an object.
type ID = object.ObjMetadata

// Owner names a Kustomization.
type Owner = types.NamespacedName

// Ref is an object of an inventory: its name and the version of its kind.
type Ref struct {
	ID
	Version string
}

// Name is how people read an object's name: Kind/namespace/name.
func Name(id ID) string { return utils.FmtObjMetadata(id) }

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

// Print tells whether an object was changed.
type Print struct {
	UID        types.UID
	Generation int64
	// Marks stands for labels and annotations.
	Marks [sha256.Size]byte
	// Version orders two prints of an object.
	Version  string
	Deleting bool
}

// PrintOf is an object's print.
func PrintOf(o metav1.Object) Print {
	return Print{UID: o.GetUID(), Generation: o.GetGeneration(), Marks: marks(o), Version: o.GetResourceVersion(),
		Deleting: o.GetDeletionTimestamp() != nil}
}

func marks(o metav1.Object) [sha256.Size]byte {
	h := sha256.New()
	for _, m := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		sort.Strings(keys)
		for _, k := range keys {
			fmt.Fprintf(h, "%d:%s%d:%s", len(k), k, len(m[k]), m[k])
		}
		h.Write([]byte{0})
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Same tells whether nobody has changed the object between two prints, its status aside.
func (p Print) Same(q Print) bool {
	if p.UID != q.UID || p.Marks != q.Marks || p.Deleting != q.Deleting {
		return false
	}
	if p.Generation > 0 {
		return p.Generation == q.Generation
	}
	return p.Version == q.Version
}

// Older tells whether a version of an object is from before another. Versions of one API are numbers that grow.
func Older(version, than string) bool {
	a, errA := strconv.ParseUint(version, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	return errA == nil && errB == nil && a < b
}

// digestOf stands for a manifest.
func digestOf(u *unstructured.Unstructured) ([sha256.Size]byte, error) {
	// Keys of maps are sorted.
	content, err := json.Marshal(u.Object)
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("%s: %w", utils.FmtUnstructured(u), err)
	}
	return sha256.Sum256(content), nil
}
