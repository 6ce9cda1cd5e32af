// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package server

import (
	"context"
	"strconv"

	"github.com/yuba-dev/yuba/internal/content"
	"github.com/yuba-dev/yuba/internal/provider"
	"github.com/yuba-dev/yuba/internal/run"
	"github.com/yuba-dev/yuba/internal/runner"
)

// NoProviderStore stands for a directory where none is wanted: then each stack downloads its own providers.
const NoProviderStore = "off"

// providerStore is the directory that downloaded providers are kept in for all stacks; empty for none.
func (e *engine) providerStore() string {
	switch e.opts.ProviderStore {
	case "":
		return e.dir.ProviderStore()
	case NoProviderStore:
		return ""
	}
	return e.opts.ProviderStore
}

// providerStoreFlags tell the runner of it.
func (e *engine) providerStoreFlags() []string {
	dir := e.providerStore()
	if dir == "" {
		return nil
	}
	return []string{"--provider-store", dir, "--provider-store-unused", e.opts.ProviderStoreUnused.String(),
		"--provider-store-bytes", strconv.FormatInt(e.opts.ProviderStoreBytes, 10)}
}

// storedProviders lists what is in the store.
func (e *engine) storedProviders(context.Context) (content.ProviderList, error) {
	list := content.ProviderList{Items: []run.StoredProvider{}}
	dir := e.providerStore()
	if dir == "" {
		return list, nil
	}
	stored, err := provider.List(dir)
	if err != nil {
		return list, err
	}
	users := runner.ProviderLinks(e.dir.Work())
	for _, p := range stored {
		list.Items = append(list.Items, run.StoredProvider{Source: p.Address.String(), Version: p.Version, Size: p.Size, Hash: p.H1, Fetched: p.Fetched,
			Used: p.Used.UTC(), Users: users[p.Dir], Scope: p.Scope, Runner: hostname()})
	}
	return list, nil
}
