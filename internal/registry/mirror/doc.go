// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package mirror keeps providers of other registries: each is downloaded once, when somebody first
// asks for it, and served from the bucket from then on, also while its origin does not answer.
//
// Nouns:
//
//   - The origin is the registry that publishes a provider: the host in its source.
//   - An index is the list of all versions that the origin has, also of those not downloaded.
//   - A release is one version with the hashes of its archives for all platforms, see package
//     release. An archive is what one platform downloads.
//
// The bucket has boring-registry's layout, see package layout. What that layout does not know is in
// yuba/mirror/: the index of each provider as the origin last gave it, what was verified of each
// release, and when archives were last used.
//
// Invariants:
//
//   - Nothing is served or stored whose checksum and signature were not verified before. A release
//     without a signing key is accepted from registry.opentofu.org only, as OpenTofu does.
//   - Archives that another program put into the bucket are verified before they are first served.
//   - Of concurrent requests for the same thing one asks the origin, and the others wait for it. The
//     work ends when nobody waits any more.
//   - What was served once is served again while the origin is down, silent, refuses or lies.
//   - A download is spooled to disk; memory does not depend on the size of archives.
//   - The origin chooses names and addresses, and cannot make the mirror connect to this machine or
//     its network: only hosts that an administrator named may have such addresses, and metadata
//     services are always refused.
//   - An archive that is being read is not evicted.
//
// The package serves no HTTP, and knows neither users nor their rights.
package mirror
