// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package opentofu installs releases of OpenTofu and Terraform into a directory of tools, and keeps
// them in the registry's bucket for others.
//
// A release is an archive for each platform, a list of checksums, and a signature of that list. A
// [Source] says where they are and who signs them: OpenTofu's own releases, or a mirror with the
// same layout,
//
//	URL/v1.12.6/tofu_1.12.6_linux_amd64.tar.gz
//	URL/v1.12.6/tofu_1.12.6_SHA256SUMS
//	URL/v1.12.6/tofu_1.12.6_SHA256SUMS.gpgsig
//
// Terraform's releases have the layout of releases.hashicorp.com: a directory without v, zip archives,
// and signatures that end in .sig.
//
// [Kept] has the files of releases in the bucket, and fetches missing ones.
//
// Invariants:
//
//   - Nothing is installed or kept without a signature by the source's keys. No option skips this check.
//   - A program appears in the directory of tools only when it is complete, verified and on disk. A
//     failure leaves the directory unchanged.
//   - Every read is limited, and a download from a silent server is cancelled.
//
// The package does not choose versions or start the program, and does not know runs.
package opentofu
