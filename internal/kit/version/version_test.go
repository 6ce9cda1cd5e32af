// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"runtime/debug"
	"testing"
)

func TestVersionFromBuildInfo(t *testing.T) {
	vcs := func(revision, modified string) []debug.BuildSetting {
		return []debug.BuildSetting{
			{Key: "vcs", Value: "git"},
			{Key: "vcs.revision", Value: revision},
			{Key: "vcs.modified", Value: modified},
		}
	}
	for sentence, test := range map[string]struct {
		info debug.BuildInfo
		want string
	}{
		"a module that was installed has its version": {
			debug.BuildInfo{Main: debug.Module{Version: "v1.2.3"}}, "v1.2.3",
		},
		"a clean checkout has the short commit": {
			debug.BuildInfo{Main: debug.Module{Version: "(devel)"}, Settings: vcs("0123456789abcdef0123", "false")}, "0123456789ab",
		},
		"a checkout with changes is dirty": {
			debug.BuildInfo{Settings: vcs("0123456789abcdef0123", "true")}, "0123456789ab-dirty",
		},
		"a hash that is short already stays as it is": {
			debug.BuildInfo{Settings: vcs("0123", "false")}, "0123",
		},
		"changes without a commit say nothing": {
			debug.BuildInfo{Settings: vcs("", "true")}, "unknown",
		},
		"nothing is known": {debug.BuildInfo{}, "unknown"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := fromBuildInfo(&test.info); got != test.want {
				t.Errorf("fromBuildInfo = %q, want %q", got, test.want)
			}
		})
	}
}

func TestTheLinkerHasTheLastWord(t *testing.T) {
	before := Version
	t.Cleanup(func() { Version = before })
	Version = "v9.8.7-6-gabcdef"
	if got := String(); got != Version {
		t.Errorf("String() = %q, want %q", got, Version)
	}
}
