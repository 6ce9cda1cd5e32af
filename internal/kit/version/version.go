// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package version knows which Yuba this is.
//
// A build by "make build" is stamped with what git describe says. Any other build, such as "go
// install" of a tagged version or "go run" in a checkout, is named by the information that Go
// itself puts into every program.
package version

import (
	"runtime/debug"
)

// Version is set by the linker: -X github.com/yuba-dev/yuba/internal/kit/version.Version=v1.2.3.
// Read it with [String].
var Version = ""

// unknown is the version of a program without version information.
const unknown = "unknown"

// shortRevision is the shown length of a commit's hash, as git chooses it in a repository of this
// size.
const shortRevision = 12

// String returns the version: what the linker set, else the module's version, else the commit with
// "-dirty" when the checkout had changes, else "unknown".
func String() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return unknown
	}
	return fromBuildInfo(info)
}

func fromBuildInfo(info *debug.BuildInfo) string {
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	var revision, suffix string
	for _, setting := range info.Settings {
		switch {
		case setting.Key == "vcs.revision":
			revision = setting.Value
		case setting.Key == "vcs.modified" && setting.Value == "true":
			suffix = "-dirty"
		}
	}
	if revision == "" {
		return unknown
	}
	return revision[:min(len(revision), shortRevision)] + suffix
}
