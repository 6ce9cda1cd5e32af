// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/contracts/decide"
	"github.com/yuba-dev/yuba/internal/contracts/paths"
	"github.com/yuba-dev/yuba/internal/contracts/revisions"
	"github.com/yuba-dev/yuba/internal/contracts/shape"
	"github.com/yuba-dev/yuba/internal/contracts/validation"
	"github.com/yuba-dev/yuba/internal/contracts/versions"
)

// Book answers questions about contracts.
type Book struct {
	// Cache has the contracts, the stacks with the indexes of [AddIndexes], and the metadata of
	// namespaces.
	Cache client.Reader
	Store *revisions.Store
	// Elsewhere finds producers that are not stacks; nil if there are none.
	Elsewhere Elsewhere

	// prepared has contracts by their names, as of their resource versions.
	prepared sync.Map
	types    typeBook
}

// edition is an admitted version of a contract.
type edition struct {
	decide.Edition
	private, deprecated paths.Set
	validations         *validation.Validations
}

// known is a contract as of one resource version.
type known struct {
	resourceVersion string
	object          *yubav1.Contract
	editions        []edition
}

// edition returns an admitted version.
func (k *known) edition(v versions.Version) (edition, bool) {
	if k == nil {
		return edition{}, false
	}
	i := slices.IndexFunc(k.editions, func(e edition) bool { return e.Version.Compare(v) == 0 })
	if i < 0 {
		return edition{}, false
	}
	return k.editions[i], true
}

// newest returns the highest admitted version in a range.
func (k *known) newest(in versions.Range) (found edition, ok bool) {
	if k == nil {
		return edition{}, false
	}
	for _, e := range k.editions {
		if in.Has(e.Version) && (!ok || e.Version.Compare(found.Version) > 0) {
			found, ok = e, true
		}
	}
	return found, ok
}

// contract reads a contract; nil if it does not exist. The result must not be changed.
func (b *Book) contract(ctx context.Context, name types.NamespacedName) (*known, error) {
	var o yubav1.Contract
	err := b.Cache.Get(ctx, name, &o, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		b.prepared.Delete(name)
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read contract %s: %w", name, err)
	}
	if was, ok := b.prepared.Load(name); ok && was.(*known).resourceVersion == o.ResourceVersion && was.(*known).object.UID == o.UID {
		return was.(*known), nil
	}
	k := &known{resourceVersion: o.ResourceVersion, object: &o}
	for _, v := range o.Status.Versions {
		e, err := editionOf(v)
		if err != nil {
			return nil, fmt.Errorf("read version %s of contract %s, which was admitted: %w", v.Version, name, err)
		}
		k.editions = append(k.editions, e)
	}
	b.prepared.Store(name, k)
	return k, nil
}

// problem says why a version cannot be used.
type problem struct{ reason, message string }

func (p *problem) Error() string { return p.message }

func wrong(reason, format string, args ...any) error {
	return &problem{reason, fmt.Sprintf(format, args...)}
}

// editionOf checks and prepares a version.
func editionOf(v yubav1.ContractVersion) (e edition, err error) {
	if e.Version, err = versions.Parse(v.Version); err != nil {
		return e, wrong(yubav1.ReasonInvalidVersion, "spec.version: %v", err)
	}
	if e.Type, err = shape.Parse(v.Type); err != nil {
		return e, wrong(yubav1.ReasonInvalidType, "spec.type: %v", err)
	}
	if e.private, err = pathsIn(e.Type, "spec.private", v.Private); err != nil {
		return e, err
	}
	var deprecated []string
	for _, d := range v.Deprecated {
		deprecated = append(deprecated, d.Path)
	}
	if e.deprecated, err = pathsIn(e.Type, "spec.deprecated", deprecated); err != nil {
		return e, err
	}
	var rules []validation.Rule
	for _, r := range v.Validations {
		rules = append(rules, validation.Rule{Text: r.Rule, Message: r.Message})
	}
	if e.validations, err = validation.Compile(e.Type, rules); err != nil {
		return e, wrong(yubav1.ReasonInvalidValidation, "spec.validations: %v", err)
	}
	return e, nil
}

// pathsIn parses paths of a type.
func pathsIn(of shape.Type, field string, texts []string) (paths.Set, error) {
	var list []paths.Path
	for _, text := range texts {
		p, err := paths.Parse(text)
		if err == nil {
			_, err = of.At(p)
		}
		if err != nil {
			return paths.Set{}, wrong(yubav1.ReasonInvalidPath, "%s: %v", field, err)
		}
		list = append(list, p)
	}
	return paths.Of(list...), nil
}

// maxTypes bounds the parsed types in memory.
const maxTypes = 4096

// typeBook remembers parsed types: many consumers have equal ones.
type typeBook struct {
	mu    sync.Mutex
	known map[string]shape.Type
}

func (t *typeBook) parse(text string) (shape.Type, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if parsed, ok := t.known[text]; ok {
		return parsed, nil
	}
	parsed, err := shape.Parse(text)
	if err != nil {
		return parsed, err
	}
	if len(t.known) >= maxTypes || t.known == nil {
		t.known = map[string]shape.Type{}
	}
	t.known[text] = parsed
	return parsed, nil
}
