// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"sync"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
)

// kind is an application kind in force.
type kind struct {
	// definition is the name of its definition.
	definition string
	// backend and prefix say which objects its instances have.
	backend appv1.BackendType
	prefix  string
	// resource is its plural name.
	resource string
	// parsed is the definition that was accepted last; nil for none. Then problem says why.
	parsed  *definition.Definition
	problem string
	// unused says that parsed is older than the definition, which does not fit its program; empty otherwise.
	unused string
	// target is the revision of parsed; 0 if it is not known. wave is its unfinished rollout; nil for none.
	target int64
	wave   *wave
}

// book has the kinds in force, by their names.
type book struct {
	mu    sync.RWMutex
	kinds map[string]kind
}

func newBook() *book { return &book{kinds: map[string]kind{}} }

func (b *book) get(name string) (kind, bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	k, ok := b.kinds[name]
	return k, ok
}

// put sets a kind, and reports whether its instances have something new to do.
func (b *book) put(name string, k kind) (news bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	before, had := b.kinds[name]
	b.kinds[name] = k
	return !had || before.problem != k.problem || before.unused != k.unused || before.definition != k.definition || before.wave != k.wave || !before.parsed.Same(k.parsed)
}

func (b *book) drop(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.kinds, name)
}

// byResource finds a kind by its plural or singular name.
func (b *book) byResource(resource string) (name string, k kind, ok bool) {
	b.mu.RLock()
	defer b.mu.RUnlock()
	for name, k := range b.kinds {
		if k.resource == resource {
			return name, k, true
		}
	}
	return "", kind{}, false
}

// mapper maps application kinds by the book, because a kind may come back with another plural, and
// everything else by another mapper.
type mapper struct {
	apimeta.RESTMapper
	book *book
}

func (m mapper) RESTMapping(gk schema.GroupKind, versions ...string) (*apimeta.RESTMapping, error) {
	if gk.Group != appv1.InstanceVersion.Group {
		return m.RESTMapper.RESTMapping(gk, versions...)
	}
	k, ok := m.book.get(gk.Kind)
	if !ok {
		return nil, &apimeta.NoKindMatchError{GroupKind: gk, SearchedVersions: versions}
	}
	return &apimeta.RESTMapping{Resource: appv1.InstanceVersion.WithResource(k.resource), GroupVersionKind: appv1.InstanceVersion.WithKind(gk.Kind),
		Scope: apimeta.RESTScopeNamespace}, nil
}

func groupKind(name string) schema.GroupKind {
	return schema.GroupKind{Group: appv1.InstanceVersion.Group, Kind: name}
}

// all returns a copy of all kinds.
func (b *book) all() map[string]kind {
	b.mu.RLock()
	defer b.mu.RUnlock()
	return maps.Clone(b.kinds)
}

// choosers are the kinds whose instances take identities from their namespaces.
func (b *book) choosers() (names []string) {
	for name, k := range b.all() {
		if d := k.parsed; d != nil && d.Choosable() {
			names = append(names, name)
		}
	}
	return names
}
