// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package opentofu installs releases of OpenTofu into a directory of tools.
//
// A release is an archive for each platform, a list of checksums, and a signature of that list. A [Source] says where they
// are and who signs them: OpenTofu's own releases, or a mirror with the same layout,
//
//	URL/v1.12.6/tofu_1.12.6_linux_amd64.tar.gz
//	URL/v1.12.6/tofu_1.12.6_SHA256SUMS
//	URL/v1.12.6/tofu_1.12.6_SHA256SUMS.gpgsig
//
// What always holds:
//
//   - Nothing is installed that the source's keys have not signed. There is no option that leaves the check out.
//   - A program appears in the directory of tools when it is whole, verified and on the disk, and not before. A failure
//     leaves the directory as it was.
//   - Nothing is read without a bound, and a server that falls silent is given up.
//
// The package does not choose versions, start the program or know of runs.
package opentofu
