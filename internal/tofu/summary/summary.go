// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package summary

import (
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Summaries of diagnostics.
const (
	// StalePlan: the saved plan was made for an older state.
	StalePlan = "Saved plan is stale"
	// Lock: the state cannot be locked. Release: it could not be unlocked.
	Lock    = "Error acquiring the state lock"
	Release = "Error releasing the state lock"
	// Backend: the directory was initialised with another backend.
	Backend = "Backend configuration changed"
	// LockFile: the lock file has the hashes of a mirror only.
	LockFile = "Incomplete lock file information for providers"
)

// modules mean that the list of modules does not fit the program.
var modules = []string{"Module not installed", "Module source has changed", "Module version requirements have changed"}

// providers mean that init could not choose or install a provider. They are those of getProviders in
// internal/command/init.go.
var providers = append([]string{
	"Failed to query available provider packages",
	"Failed to resolve provider packages",
	"Incompatible provider version",
	"Invalid provider registry host",
}, installing...)

// installing mean that a provider could not be put in place.
var installing = []string{"Failed to install provider", "Failed to install provider from shared cache"}

// unhandled is the first line of the summary if the tool has no diagnostic for a provider's error.
const unhandled = "some providers could not be installed:"

// OfModules reports whether an error is about the list of modules.
func OfModules(said diagnostic.List) bool {
	return slices.ContainsFunc(said.Errors(), func(d diagnostic.Diagnostic) bool { return slices.Contains(modules, d.Summary) })
}

// OfProviders reports whether an error is about the choice or installation of a provider.
func OfProviders(said diagnostic.List) bool {
	return slices.ContainsFunc(said.Errors(), func(d diagnostic.Diagnostic) bool {
		first, _, _ := strings.Cut(d.Summary, "\n")
		return slices.Contains(providers, d.Summary) || first == unhandled
	})
}

// DiskFull reports whether the installation of a provider failed on a full disk. The tool removes the
// partial download, so the disk has space again, and the kernel's text ends the detail.
func DiskFull(said diagnostic.List) bool {
	return slices.ContainsFunc(said.Errors(), func(d diagnostic.Diagnostic) bool {
		detail := strings.TrimRight(d.Detail, ".\n ")
		return slices.Contains(installing, d.Summary) && (strings.HasSuffix(detail, ": "+unix.ENOSPC.Error()) || strings.HasSuffix(detail, ": "+unix.EDQUOT.Error()))
	})
}
