// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"errors"
	"time"
)

// ErrNoProvider means that no store has the provider.
var ErrNoProvider = errors.New("the provider is not stored")

// ProviderUse is a run's use of a store of providers.
type ProviderUse struct {
	// Hits counts providers that were stored already.
	Hits int `json:"hits,omitempty"`
	// Downloads counts providers that it had to download, DownloadedBytes is their unpacked size.
	Downloads       int   `json:"downloads,omitempty"`
	DownloadedBytes int64 `json:"downloadedBytes,omitempty"`
}

// StoredProvider is a package in a runner's store of providers.
type StoredProvider struct {
	// Source is the provider's address, HOST/NAMESPACE/TYPE.
	Source  string `json:"source"`
	Version string `json:"version"`
	// Size is its size on disk, in bytes.
	Size int64 `json:"size"`
	// Hash is the hash of its content, as in lock files.
	Hash string `json:"hash"`
	// Fetched is when it was downloaded, Used when a run last used it.
	Fetched time.Time `json:"fetched"`
	Used    time.Time `json:"used"`
	// Users counts the working directories with links to it.
	Users int `json:"users"`
	// Scope is "shared", or names the credentials and settings of the stacks that may use it.
	Scope string `json:"scope"`
	// Runner is the machine where it is.
	Runner string `json:"runner,omitempty"`
}
