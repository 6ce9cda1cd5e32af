// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package versions holds the versions of contracts and the ranges that consumers name.
//
// A version has three numbers (1.2.0, as semver.org has it). A range is written as OpenTofu's
// constraints on modules and providers: "~> 1.2" is 1.2.0 and later, below 2.0.0; commas join
// comparisons that all must hold. Without a range, every version is in it. A pre-release is in a
// range only if the range is exactly this version.
//
// Invariants: versions are ordered by precedence; build metadata does not distinguish versions and
// is refused, so that equal versions have equal texts.
package versions
