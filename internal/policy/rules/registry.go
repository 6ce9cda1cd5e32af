// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

// registry has all rules.
var registry = []Rule{noDestroy, noReplace, noForget, maxChanges, onlyTagsChanged, noProvisioners, noExternalData,
	contractSafe, changeWindow, approvedProviders, pinnedVersions, approvedModules, noIAM}
