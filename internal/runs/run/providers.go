// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"time"
)

// ErrNoProvider says that no store has such a provider.
var ErrNoProvider = errors.New("no such provider is stored")

// ProviderUse is what a store of providers did for one run.
type ProviderUse struct {
	// Hits counts the providers that were there already.
	Hits int `json:"hits,omitempty"`
	// Downloads counts those that this run had to download, for itself and all others; DownloadedBytes is what they take
	// unpacked.
	Downloads       int   `json:"downloads,omitempty"`
	DownloadedBytes int64 `json:"downloadedBytes,omitempty"`
}

// StoredProvider is a package in a runner's store of providers.
type StoredProvider struct {
	// Source is the provider's address, HOST/NAMESPACE/TYPE.
	Source  string `json:"source"`
	Version string `json:"version"`
	// Size is what it takes on the disk, in bytes.
	Size int64 `json:"size"`
	// Hash is that of its content, as lock files have it.
	Hash string `json:"hash"`
	// Fetched is when it was downloaded, Used when a run was last given it.
	Fetched time.Time `json:"fetched"`
	Used    time.Time `json:"used"`
	// Users counts the working directories that link to it.
	Users int `json:"users"`
	// Scope is "shared", or names what the stacks have in common that may use it: the same credentials and settings.
	Scope string `json:"scope"`
	// Runner is the machine where it is.
	Runner string `json:"runner,omitempty"`
}
