// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/providers"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// NoProviderStore disables the provider store: each stack downloads its own providers.
const NoProviderStore = "off"

// providerStore returns the directory of the provider store; empty if disabled.
func (e *engine) providerStore() string {
	switch e.opts.ProviderStore {
	case "":
		return e.dir.ProviderStore()
	case NoProviderStore:
		return ""
	}
	return e.opts.ProviderStore
}

// providerStoreFlags returns the runner's flags for it.
func (e *engine) providerStoreFlags() []string {
	dir := e.providerStore()
	if dir == "" {
		return nil
	}
	return []string{"--provider-store", dir, "--provider-store-unused", e.opts.ProviderStoreUnused.String(),
		"--provider-store-bytes", strconv.FormatInt(e.opts.ProviderStoreBytes, 10)}
}

// removeProvider removes a package from the store. The store knows whether a run uses it: a runner
// holds its packages.
func (e *engine) removeProvider(_ context.Context, source, version, scope string) (content.ProviderList, error) {
	list := content.ProviderList{Items: []run.StoredProvider{}}
	a, err := providers.ParseAddress(source, providers.DefaultHost("tofu"))
	if err != nil {
		return list, fmt.Errorf("%w: %w", run.ErrNoProvider, err)
	}
	dir := e.providerStore()
	if dir == "" {
		return list, fmt.Errorf("%w: this server does not have a provider store", run.ErrNoProvider)
	}
	store, err := providers.Open(dir)
	if err != nil {
		return list, err
	}
	// A run that outlived its runner continues under the next one, which does not hold its
	// packages.
	var atWork []run.Stack
	for _, u := range e.executor.AtWork() {
		atWork = append(atWork, u.Run.Spec.Stack)
	}
	linked := workspace.ProviderLinksOf(e.dir.Work(), atWork)
	removed, err := store.Remove(a, version, scope, func(dir string) bool { return linked[dir] > 0 })
	for _, p := range removed {
		list.Items = append(list.Items, describeProvider(p, 0))
	}
	switch {
	case errors.Is(err, providers.ErrNone):
		err = run.ErrNoProvider
	case errors.Is(err, providers.ErrHeld):
		err = &run.RefusedError{Message: err.Error()}
	}
	return list, err
}

func describeProvider(p providers.Stored, users int) run.StoredProvider {
	return run.StoredProvider{Source: p.Address.String(), Version: p.Version, Size: p.Size, Hash: p.H1, Fetched: p.Fetched,
		Used: p.Used.UTC(), Users: users, Scope: p.Scope, Runner: hostname()}
}

// storedProviders lists the content of the store.
func (e *engine) storedProviders(context.Context) (content.ProviderList, error) {
	list := content.ProviderList{Items: []run.StoredProvider{}}
	dir := e.providerStore()
	if dir == "" {
		return list, nil
	}
	stored, err := providers.List(dir)
	if err != nil {
		return list, err
	}
	users := workspace.ProviderLinks(e.dir.Work())
	for _, p := range stored {
		list.Items = append(list.Items, describeProvider(p, users[p.Dir]))
	}
	return list, nil
}
