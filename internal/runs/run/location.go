// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import "strings"

// IsCloud reports whether a location is that of a cloud block, which is not a backend to the tool.
func IsCloud(location string) bool { return strings.HasPrefix(location, "cloud ") }

// NeedsWorkspace reports whether init at a location accepts only an existing workspace, and needs its name.
// Other backends always have the workspace default, in which the tool creates others.
func NeedsWorkspace(location string) bool {
	return IsCloud(location) || strings.HasPrefix(location, "remote ")
}
