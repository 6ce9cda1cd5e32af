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
//   - The bucket proves nothing: a record counts if its signature verifies again when it is loaded, an
//     unsigned one if the origin agrees or does not answer. This process reads an archive completely
//     before it first serves it, and whenever its version in the bucket changed.
//   - An origin that answers has the last word. What other programs put into the bucket is taken only
//     while it cannot be asked.
//   - Of concurrent requests for the same thing one asks the origin, and the others wait for it. The
//     work ends when nobody waits any more.
//   - What was served once is served again while the origin is down, silent, refuses or lies.
//   - A download is spooled to disk; memory does not depend on the size of archives.
//   - The origin chooses names and addresses, and cannot make the mirror connect to this machine or
//     its network: only hosts with ports that an administrator named may have such addresses, and
//     metadata services are always refused. Nor can it make the mirror ask itself.
//   - What one process removed the others that share the bucket forget within a minute.
//   - An archive that is being read is not evicted.
//
// The package serves no HTTP, and knows neither users nor their rights.
package mirror
