// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package publish pushes directories to OCI registries as artifacts, and pulls, tags and lists them.
//
// Nouns:
//
//   - An artifact is an OCI image with one layer, a gzipped tar, and the media types and annotations
//     of "flux push artifact", so that OCIRepositories accept it.
//   - A reference names an artifact: oci://HOST/REPOSITORY:TAG or oci://HOST/REPOSITORY@DIGEST.
//   - The source and the revision of an artifact are annotations that name its origin.
//
// Invariants:
//
//   - Equal files, source and revision have an equal digest, whatever the owner, the directory and
//     the umask. With umask 022 it is Flux's digest of them.
//   - Artifacts contain neither state files nor .terraform and .git.
//   - A pull verifies the digest, is limited in size, and either completes or leaves the directory
//     unchanged. It writes only to this directory, and replaces no file.
//   - Errors do not contain credentials.
//
// Package internal/gitops/sources/oci fetches artifacts for OCIRepositories.
package publish
