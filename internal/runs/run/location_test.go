// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "testing"

func TestWhichLocationsNeedAWorkspace(t *testing.T) {
	for location, want := range map[string][2]bool{
		"cloud organization=acme workspaces.tags=net": {true, true}, "remote organization=acme workspaces.prefix=net-": {false, true},
		"s3 bucket=states key=remote": {}, "yuba": {}, "": {}, "the module's own backend": {},
	} {
		if got := [2]bool{IsCloud(location), NeedsWorkspace(location)}; got != want {
			t.Errorf("%s: %v, want %v", location, got, want)
		}
	}
}
