// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bundle writes tar archives of members whose length is not known in advance, and reads them.
//
// A member is written in chunks: consecutive entries with its name. Most members are one entry, so
// ordinary tools can list and extract them. The last member is the manifest, with the length and the
// SHA-256 of every other one: an archive without it is truncated.
//
// The package does not know what members contain, and has no limits of its own but for the manifest.
package bundle
