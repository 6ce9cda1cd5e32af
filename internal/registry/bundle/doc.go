// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bundle packs what a server needs without a network into one archive, and unpacks it: releases of OpenTofu, providers,
// modules, charts, images and manifests.
//
// A bundle is a tar archive. Its first file, yuba-bundle.json, is the index: the path, size and SHA-256 sum of each other file,
// in the order of the archive. The digest of a bundle is that of its index, so it covers all content. Compare it over another
// way than the archive came. The other files are:
//
//	tools/tofu/v1.12.6/…      releases, in the layout of OpenTofu's own releases, with the signed checksums
//	providers.tar             providers, as "yuba registry mirror export" writes them, with the signed checksums
//	files/…                   files of modules, such as programs and images of k3s, for a web server inside
//	images/…                  images and charts of OCI registries, an OCI layout
//	charts/…, modules/…, manifests/…
//
// Invariants:
//
//   - The same content makes the same bytes: order, times, owners and modes are fixed.
//   - Memory does not depend on the size of files.
//   - Nothing of an archive is used before all of it was verified. Paths outside, links, sparse files, files that the index
//     does not name, names twice and sizes beyond limits are refused.
//   - An archive is read in place. Only the parts that must be files are unpacked, where the caller says, if they fit. What is read
//     after the verification is compared with what was verified.
//   - The parts of an unfinished bundle are kept beside it, and not fetched again.
//
// The package does not decide whose signatures count: packages opentofu and mirror do, again, when the content is used.
package bundle
