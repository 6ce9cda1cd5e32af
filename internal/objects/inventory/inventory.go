// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// Ref is the object that an entry of a status names.
func Ref(apiVersion, kind, namespace, name string) owned.Ref {
	gvk := schema.FromAPIVersionAndKind(apiVersion, kind)
	return owned.Ref{ID: owned.ID{GroupKind: gvk.GroupKind(), Namespace: namespace, Name: name}, Version: gvk.Version}
}

// Union is a, followed by the objects of b that are not in a. Versions make no difference.
func Union(a, b []owned.Ref) []owned.Ref { return append(slices.Clone(a), Without(b, a)...) }

// Without is a without the objects of b.
func Without(a, b []owned.Ref) []owned.Ref {
	in := make(map[owned.ID]bool, len(b))
	for _, r := range b {
		in[r.ID] = true
	}
	var out []owned.Ref
	for _, r := range a {
		if !in[r.ID] {
			out = append(out, r)
		}
	}
	return out
}

// Names lists objects for people.
func Names(refs []owned.Ref) []string {
	names := make([]string, 0, len(refs))
	for _, r := range refs {
		names = append(names, owned.Name(r.ID))
	}
	return names
}

// textLength is how much of a digest a status has: 96 bits. Etcd limits the size of an object.
const textLength = 24

// Text is a digest as it stands in a status.
func Text(digest [sha256.Size]byte) string { return hex.EncodeToString(digest[:])[:textLength] }

// PrintText is a print as it stands in a status. The version counts only for kinds without
// generations.
func PrintText(p owned.Print) string {
	text := fmt.Sprintf("%s %d %x", p.UID, p.Generation, p.Marks)
	if p.Generation == 0 {
		text += " " + p.Version
	}
	return Text(sha256.Sum256([]byte(text)))
}

// ManifestText is the digest of a manifest as it stands in a status.
func ManifestText(u *unstructured.Unstructured) (string, error) {
	digest, err := owned.Digest(u)
	if err != nil {
		return "", err
	}
	return Text(digest), nil
}
