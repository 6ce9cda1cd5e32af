// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package build

import (
	"bytes"
	"slices"

	"go.yaml.in/yaml/v3"
	kustypes "sigs.k8s.io/kustomize/api/types"
)

// A few lines can make kustomize fill any memory: forty replacements of which each doubles a text, a label of a megabyte
// on every object, a patch that copies. So a tree is only built in this process if it cannot become much more than it is.

const (
	// maxGrowth is what all rules may have when each is written into each object.
	maxGrowth = 32 << 20
	// maxHere is what the files with objects may have: 4000 small objects, which kustomize compares each with each.
	maxHere = 1 << 20
	// leastObject is what an object has at least, with apiVersion, kind and a name.
	leastObject = 40
)

// rule counts text that says what is to be done with objects. It is taken for one that lets them grow when it repeats
// parts of itself or of objects.
func (l *look) rule(text []byte) {
	l.rules += int64(len(text))
	l.grows = l.grows || hasAliases(text)
}

// hasAliases tells whether YAML may repeat parts of itself.
func hasAliases(text []byte) bool {
	return bytes.IndexByte(text, '&') >= 0 && bytes.IndexByte(text, '*') >= 0
}

// ruled looks at what a kustomization does to objects, beside its own text.
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

// patch looks at a patch, whose text is counted already. Those that copy what is in an object let it grow.
func (l *look) patch(text []byte) {
	l.grows = l.grows || hasAliases(text) || copies(text)
}

// patchFile counts a patch in a file of its own.
func (l *look) patchFile(path string) {
	text, err := l.t.ReadFile(path)
	if err != nil {
		return // kustomize will say it
	}
	l.rule(text)
	l.patch(text)
}

// copies tells whether a JSON patch has an operation that copies.
func copies(text []byte) bool {
	parsed, err := documents(text)
	if err != nil {
		return true // whatever kustomize makes of it
	}
	return slices.ContainsFunc(parsed, hasCopy)
}

func hasCopy(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.Value == "copy" || slices.ContainsFunc(node.Content, hasCopy)
}

// mayGrow tells whether building the tree may take much more than the tree has.
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
