// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package program places the programs of release archives in a directory of tools.
//
// Servers place releases that they verified themselves. Runners place what their server has verified;
// they link neither a store nor OpenPGP, so this is a package of its own.
//
// Invariants:
//
//   - A program appears in the directory only when its archive has the expected checksum, and the
//     program is complete and on disk. A failure leaves the directory unchanged.
//   - Unpacking is limited, and takes only the one regular file with the tool's name.
//   - Concurrent placements of the same version, in any process, are safe.
package program
