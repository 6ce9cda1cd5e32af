// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"slices"

	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/offer"
)

// mirrored are the providers of all hosts as the network mirror serves them: those of the registry's
// own host, and those of others. Clients of a network mirror verify no signature, so it has verified
// releases only.
type mirrored struct {
	own, others Providers
	host        string
}

// pick returns the source of a provider, and the provider as that source names it.
func (m mirrored) pick(p layout.Provider) (Providers, layout.Provider, error) {
	from := m.others
	if m.host != "" && p.Host == m.host {
		from, p.Host = m.own, ""
	}
	if from == nil {
		return nil, p, fmt.Errorf("the provider %s: %w in this mirror", p, offer.ErrNone)
	}
	return from, p, nil
}

// Versions implements Providers.
func (m mirrored) Versions(ctx context.Context, p layout.Provider) ([]offer.Version, error) {
	from, p, err := m.pick(p)
	if err != nil {
		return nil, err
	}
	list, err := from.Versions(ctx, p)
	if slices.ContainsFunc(list, unverified) {
		list = slices.DeleteFunc(slices.Clone(list), unverified)
	}
	return list, err
}

func unverified(v offer.Version) bool { return v.Unverified != "" }

// unverifiedError means that a release is not offered in the mirror.
type unverifiedError struct {
	version layout.ProviderVersion
	reason  string
}

// Is makes the error one of [offer.ErrRefused].
func (e *unverifiedError) Is(target error) bool { return target == offer.ErrRefused }

func (e *unverifiedError) Error() string {
	return fmt.Sprintf("%s is not offered in the mirror, because clients of a mirror verify no signature: %s. If its signature is right, add the key that made it:\n    yuba registry keys add %s KEY.asc",
		e.version, e.reason, e.version.Namespace)
}

// Release implements Providers.
func (m mirrored) Release(ctx context.Context, v layout.ProviderVersion) (offer.Release, error) {
	from, p, err := m.pick(v.Provider)
	if err != nil {
		return offer.Release{}, err
	}
	r, err := from.Release(ctx, layout.ProviderVersion{Provider: p, Version: v.Version})
	if err == nil && r.Unverified != "" {
		return offer.Release{}, &unverifiedError{r.ProviderVersion, r.Unverified}
	}
	return r, err
}

// Open implements Providers.
func (m mirrored) Open(ctx context.Context, v layout.ProviderVersion, file string) (offer.File, error) {
	from, p, err := m.pick(v.Provider)
	if err != nil {
		return offer.File{}, err
	}
	if p.Host == "" { // others opens nothing that is not verified
		if _, err := m.Release(ctx, v); err != nil {
			return offer.File{}, err
		}
	}
	return from.Open(ctx, layout.ProviderVersion{Provider: p, Version: v.Version}, file)
}
