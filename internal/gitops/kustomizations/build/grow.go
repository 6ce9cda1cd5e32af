// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
	kustypes "sigs.k8s.io/kustomize/api/types"
)

// A few lines can make kustomize use any amount of memory: nested replacements, long labels,
// patches that copy. Only trees that cannot grow much are built in this process.

const (
	// maxGrowth limits the bytes of all rules, if each is written to each object.
	maxGrowth = 32 << 20
	// maxHere limits the files with objects, in bytes: about 4000 small objects.
	maxHere = 1 << 20
	// leastObject is the minimum size of an object with apiVersion, kind and name.
	leastObject = 40
)

// rule counts text that changes objects. Repeating rules can make objects grow.
func (l *look) rule(text []byte) {
	l.rules += int64(len(text))
	l.grows = l.grows || hasAliases(text)
}

// hasAliases reports whether YAML may repeat parts of itself.
func hasAliases(text []byte) bool {
	return bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0
}

// ruled checks how a kustomization changes objects, besides its own text.
func (l *look) ruled(kus *kustypes.Kustomization) {
	l.grows = l.grows || len(kus.Replacements) > 0 || len(kus.Vars) > 0 || //nolint:staticcheck // SA1019: repositories still use vars, and they multiply
		len(kus.Generators)+len(kus.Transformers)+len(kus.Validators) > 0 || len(kus.OpenAPI) > 0 || len(kus.Configurations) > 0 || len(kus.Crds) > 0
	for _, p := range kus.Patches {
		l.patch([]byte(p.Patch))
	}
	for _, p := range kus.PatchesJson6902 { //nolint:staticcheck // SA1019: repositories still use it
		l.patch([]byte(p.Patch))
	}
}

// patch checks a counted patch. Patches that copy can make objects grow.
func (l *look) patch(text []byte) {
	l.grows = l.grows || hasAliases(text) || copies(text)
}

// patchFile counts a patch in a separate file.
func (l *look) patchFile(path string) {
	text, err := l.t.ReadFile(path)
	if err != nil {
		return // kustomize will report it
	}
	l.rule(text)
	l.patch(text)
}

// copies reports whether a JSON patch may copy.
func copies(text []byte) bool {
	parsed, err := documents(text)
	if err != nil {
		return true // kustomize may read it differently
	}
	return slices.ContainsFunc(parsed, hasCopy)
}

func hasCopy(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Value == "copy" || slices.ContainsFunc(node.Content, hasCopy)
}

// mayGrow reports whether a build may need much more memory than the tree.
func (l *look) mayGrow() bool {
	if l.grows || l.bytes > maxHere {
		return true
	}
	for _, file := range l.files {
		if text, err := l.t.ReadFile(file); err != nil || hasAliases(text) {
			return true
		}
	}
	return l.rules*(l.bytes/leastObject+1) > maxGrowth
}
