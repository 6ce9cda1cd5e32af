// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bucket fetches trees from object stores: S3-compatible ones, Google Cloud Storage and
// Azure Blob Storage.
//
// Nouns:
//
//   - A bucket contains objects with names and bytes; Azure calls it a container.
//   - An ETag changes whenever its object does.
//   - An index lists names, ETags and sizes of the selected objects; its digest is the revision,
//     computed as in Flux.
//
// Invariants:
//
//   - A look only lists, and downloads only .sourceignore. Looks at one bucket with one identity
//     are shared.
//   - A tree contains exactly the objects of its index. If one changes meanwhile, the fetch fails.
//   - Names that are not paths in a directory, and objects that conflict, are errors before any
//     download. Objects, their sizes and their number are limited.
//   - Only the source's own credentials are used, never the server's identity.
//   - Errors are *archive.FetchError in our own words, without quoting the store's responses.
//
// It uses the same libraries as gocloud.dev, but not gocloud.dev itself, which rewrites object
// names and hides the ETags that revisions need.
//
// The package does not know API objects and stores nothing.
package bucket
