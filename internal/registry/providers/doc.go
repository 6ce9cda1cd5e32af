// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package providers stores providers for all stacks of a machine: each is downloaded once,
// verified, and linked from then on.
//
// Nouns:
//
//   - A package is one version of one provider for this platform, unpacked, in the layout of tofu's
//     filesystem mirror: HOST/NAMESPACE/TYPE/VERSION/OS_ARCH.
//   - A record describes a package: the hash of its content (h1), and the hashes of its release's
//     archives (zh) as tofu recorded them after verification. Its modification time is that of the
//     last use.
//   - A scope contains what was fetched under the same conditions: [Shared] with nothing of a
//     stack's own, any other by the digest of the stack's credentials and settings. Scopes share
//     nothing.
//   - An answer is the version that the tool chose for constraints, and when.
//
// Invariants:
//
//   - This package downloads nothing itself. Its caller lets the tool install a program that
//     requires the provider. The store takes over what the tool accepted, signatures included, if
//     its content has the hash that the tool recorded.
//   - A package is in the store completely or not at all: it is moved there with one rename, and
//     counts once its record exists. The next collection removes the remains of a process that
//     died.
//   - Of several concurrent requests for the same package, in any process, one fetches it and the
//     others wait.
//   - A held package is not removed. A package is compared with the hashes of a lock file before it
//     is used: see [Package.Compare].
//
// The package does not know runs or working directories: its caller passes their links to a
// collection.
package providers
