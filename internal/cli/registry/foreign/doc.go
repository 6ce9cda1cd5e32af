// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package foreign reads modules from other registries, as tofu does, so that they can be copied.
//
// Nouns:
//
//   - A registry is a host that speaks modules.v1: Terraform Enterprise, HCP Terraform,
//     boring-registry, GitLab, another Yuba.
//   - A package is the archive of one version, as the registry serves it; a tree is its content.
//   - Credentials are the tokens that tofu would use for a host.
//
// Invariants:
//
//   - A token goes to its own host only, over TLS only. Downloads from other hosts, such as a
//     bucket, get none; nor do those from the host itself, unless the registry asks for it.
//   - Whatever a registry answers costs a bounded amount of memory, disk and time.
//   - A tree is extracted with the checks of package archive. Nothing in it is executed, and no
//     other program is started: versions that are kept in git are reported, and not cloned.
//
// The package publishes nothing.
package foreign
