// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish puts directories into OCI registries as artifacts, and gets them from there.
//
// Nouns:
//
//   - An artifact is an OCI image with one layer, a gzipped tar, with the media types and
//     annotations that "flux push artifact" gives it, so that an OCIRepository takes it.
//   - A reference names an artifact: oci://HOST/REPOSITORY:TAG, or oci://HOST/REPOSITORY@DIGEST.
//   - The source and the revision of an artifact are the annotations that say what it was made
//     from.
//
// Invariants:
//
//   - The same files, source and revision always make the same digest, whoever owns the files,
//     wherever they are and whatever the umask was; with the umask 022 it is the digest that Flux
//     makes of them.
//   - State files, .terraform and .git never get into an artifact.
//   - What is pulled was verified against its digest, is bounded, and is in its directory whole or
//     not at all; nothing is written outside of that directory and no file that was there is
//     replaced.
//   - Credentials are in no error.
//
// The package follows no artifact: OCIRepositories are served by internal/gitops/sources/oci.
package publish
