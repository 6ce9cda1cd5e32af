// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fetch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// What a tree of modules may consist of that is put together from the store.
const (
	MaxModuleCalls = 500
	MaxModuleDepth = 32
	MaxModuleBytes = 1 << 30
)

// InstalledModule is an entry of the tool's list of modules.
type InstalledModule struct {
	Key     string `json:"Key"`
	Source  string `json:"Source"`
	Version string `json:"Version,omitempty"`
	Dir     string `json:"Dir"`
}

// ModuleList is that list.
type ModuleList struct {
	Modules []InstalledModule `json:"Modules"`
}

// Digest is the SHA-256 of the list, in hexadecimal, in whatever order the tool wrote it.
func (l *ModuleList) Digest() string {
	sorted := slices.SortedFunc(slices.Values(l.Modules), func(a, b InstalledModule) int { return strings.Compare(a.Key, b.Key) })
	text, _ := json.Marshal(sorted) // texts always marshal
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
