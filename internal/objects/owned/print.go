// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package owned

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/fluxcd/cli-utils/pkg/object"
	"github.com/fluxcd/pkg/ssa/utils"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// ID names an object.
type ID = object.ObjMetadata

// Owner names an object that owns others.
type Owner = types.NamespacedName

// Ref is an object of an inventory: its name and the version of its kind.
type Ref struct {
	ID
	Version string
}

// Name returns Kind/namespace/name, for people.
func Name(id ID) string { return utils.FmtObjMetadata(id) }

// IDOf names an object.
func IDOf(u *unstructured.Unstructured) ID {
	return ID{GroupKind: u.GroupVersionKind().GroupKind(), Namespace: u.GetNamespace(), Name: u.GetName()}
}

// Print identifies an object's content.
type Print struct {
	UID        types.UID
	Generation int64
	// Marks is the digest of labels and annotations.
	Marks [sha256.Size]byte
	// Version orders two prints of an object.
	Version  string
	Deleting bool
}

// PrintOf returns an object's print.
func PrintOf(o metav1.Object) Print {
	return Print{UID: o.GetUID(), Generation: o.GetGeneration(), Marks: Marks(o), Version: o.GetResourceVersion(),
		Deleting: o.GetDeletionTimestamp() != nil}
}

// Marks returns the digest of an object's labels and annotations.
func Marks(o metav1.Object) [sha256.Size]byte {
	h := sha256.New()
	for _, m := range []map[string]string{o.GetLabels(), o.GetAnnotations()} {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			fmt.Fprintf(h, "%d:%s%d:%s", len(k), k, len(m[k]), m[k])
		}
		h.Write([]byte{0})
	}
	return [sha256.Size]byte(h.Sum(nil))
}

// Same reports whether the object is unchanged between two prints, except for its status.
func (p Print) Same(q Print) bool {
	if p.UID != q.UID || p.Marks != q.Marks || p.Deleting != q.Deleting {
		return false
	}
	if p.Generation > 0 {
		return p.Generation == q.Generation
	}
	return p.Version == q.Version
}

// Older reports whether a version of an object precedes another. An API's versions are numbers that
// increase.
func Older(version, than string) bool {
	a, errA := strconv.ParseUint(version, 10, 64)
	b, errB := strconv.ParseUint(than, 10, 64)
	return errA == nil && errB == nil && a < b
}

// Digest returns the digest of a manifest.
func Digest(u *unstructured.Unstructured) ([sha256.Size]byte, error) {
	content, err := json.Marshal(u.Object) // with sorted keys
	if err != nil {
		return [sha256.Size]byte{}, fmt.Errorf("%s: %w", utils.FmtUnstructured(u), err)
	}
	return sha256.Sum256(content), nil
}
