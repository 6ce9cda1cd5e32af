// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package providers keeps providers for all stacks of a machine: each is downloaded once, verified, and linked from then
// on.
//
// The nouns:
//
//   - A package is one version of one provider for this platform, unpacked. The store holds it as tofu's filesystem
//     mirror wants it: HOST/NAMESPACE/TYPE/VERSION/OS_ARCH.
//   - A record says what is known of a package: its hash of the content (h1), and the hashes of the archives of its
//     release (zh) as tofu took them over after it had verified them. Its time of modification is that of the last use.
//   - A scope is what was fetched under the same conditions: [Shared] with nothing of a stack's own; any other by the
//     digest of the stack's credentials and settings. Scopes share nothing.
//   - An answer says which version the tool chose for constraints, and when it was asked.
//
// Invariants:
//
//   - This package downloads nothing itself. Whoever calls it has the tool install a program that names the provider; what
//     the tool accepted, signatures included, is taken over when its content has the hash that the tool wrote down.
//   - A package is in the store whole or not at all: it is moved there at once, and counts when its record is there. A
//     process that dies at any time leaves what the next collection removes.
//   - Of several who want the same package at a time, in this process or another, one fetches it and the others wait.
//   - A package that is held is not removed. What a lock file says of a package is compared before it is handed out: see
//     [Package.Compare].
//
// The package knows neither runs nor working directories: what these use is told to it when it collects.
package providers
