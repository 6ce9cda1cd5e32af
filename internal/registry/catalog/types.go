// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package catalog

import (
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// Release is one version of a module.
type Release struct {
	layout.ModuleVersion
	// Digest is "sha256:…" of the archive; empty while it is unknown, as of archives that another
	// program has just written.
	Digest string `json:"digest,omitempty"`
	// Size is the archive's, in bytes.
	Size      int64     `json:"size"`
	Published time.Time `json:"published"`
	// By is who published it; empty if another program did.
	By     string  `json:"by,omitempty"`
	Notice *Notice `json:"notice,omitempty"`
	From   *Origin `json:"from,omitempty"`
	// Problem says why the archive cannot be used as a module. Only archives of other programs have
	// one: Publish refuses them.
	Problem string `json:"problem,omitempty"`
	// Interface is what the module declares. Only [Catalog.Describe] and [Catalog.Publish] return it.
	Interface *inspect.Module `json:"interface,omitempty"`
}

// NoticeKind is what a notice says of a release.
type NoticeKind string

// The kinds of notices. Both leave the archive where it is: a revoked version must not break the
// destroy of a stack that uses it.
const (
	Deprecated NoticeKind = "deprecated"
	Revoked    NoticeKind = "revoked"
)

// Notice warns the users of a release.
type Notice struct {
	Kind   NoticeKind `json:"kind"`
	Reason string     `json:"reason"`
	By     string     `json:"by,omitempty"`
	At     time.Time  `json:"at"`
}

// Origin is where a ModuleSource took a release from.
type Origin struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	Commit     string `json:"commit,omitempty"`
	// Path is the module's directory in the repository.
	Path string `json:"path,omitempty"`
}

// PublishOptions configure Publish.
type PublishOptions struct {
	// By names who publishes.
	By string
	// Force accepts a patch release that breaks callers.
	Force bool
	From  *Origin
}

// Changes are what a published release changes for its users.
type Changes struct {
	// Existed is true if the same bytes were published before; then nothing was compared.
	Existed bool `json:"existed,omitempty"`
	// Base is the version that the new one was compared with; empty if it is the first.
	Base string `json:"base,omitempty"`
	// Step is the highest number that differs from Base: "major", "minor" or "patch".
	Step string `json:"step,omitempty"`
	// Uncompared says why the base's interface is unknown; usually empty.
	Uncompared string `json:"uncompared,omitempty"`
	// List are the differences. Those that are breaking were accepted because of the step, or by
	// force.
	List []inspect.Change `json:"changes,omitempty"`
}

// Latest returns the release to recommend of releases that are sorted, newest first: the newest that
// is stable and has no notice, else the newest stable one that is not revoked, else the newest. The
// list must not be empty.
func Latest(releases []Release) Release {
	suits := func(r Release, notices bool) bool {
		return !strings.Contains(r.Version, "-") && (r.Notice == nil || notices && r.Notice.Kind != Revoked)
	}
	for _, notices := range []bool{false, true} {
		for _, r := range releases {
			if suits(r, notices) {
				return r
			}
		}
	}
	return releases[0]
}
