// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package opentofu installs releases of OpenTofu into a directory of tools.
//
// A release is an archive for each platform, a list of checksums, and a signature of that list. A
// [Source] says where they are and who signs them: OpenTofu's own releases, or a mirror with the
// same layout,
//
//	URL/v1.12.6/tofu_1.12.6_linux_amd64.tar.gz
//	URL/v1.12.6/tofu_1.12.6_SHA256SUMS
//	URL/v1.12.6/tofu_1.12.6_SHA256SUMS.gpgsig
//
// Invariants:
//
//   - Nothing is installed without a signature by the source's keys. No option skips this check.
//   - A program appears in the directory of tools only when it is complete, verified and on disk. A
//     failure leaves the directory unchanged.
//   - Every read is limited, and a download from a silent server is cancelled.
//
// The package does not choose versions or start the program, and does not know runs.
package opentofu
