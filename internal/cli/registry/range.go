// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"regexp"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
)

// versions returns which versions the flags select.
func (o *pushFlags) versions(cmd *cobra.Command) (func(version string) bool, error) {
	switch {
	case o.semver != "" && o.regex != "":
		return nil, ui.UsageErrorf(cmd, "--version-constraints-semver and --version-constraints-regex are both given: want one of them")
	case o.semver != "":
		set, err := inspect.ParseConstraints(o.semver)
		if err != nil {
			return nil, ui.UsageErrorf(cmd, "--version-constraints-semver: %w", err)
		}
		return set.Allow, nil
	case o.regex != "":
		pattern, err := regexp.Compile(o.regex)
		if err != nil {
			return nil, ui.UsageErrorf(cmd, "--version-constraints-regex: %w", err)
		}
		return pattern.MatchString, nil
	}
	return func(string) bool { return true }, nil
}
