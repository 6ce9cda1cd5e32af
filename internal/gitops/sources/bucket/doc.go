// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package bucket fetches trees from object stores: those that speak S3, Google Cloud Storage and Azure Blob Storage.
//
// The nouns:
//
//   - A bucket holds objects, each a name and bytes; Azure calls it a container.
//   - An ETag changes whenever an object does.
//   - An index is the names, ETags and sizes of the objects that count; its digest is the revision, computed as Flux does.
//
// Invariants:
//
//   - A look lists and downloads nothing but .sourceignore; looks at one bucket by one identity are shared.
//   - A tree has the very objects of its index. One that changed meanwhile ends the fetch with an error.
//   - Names that are no paths inside of a directory, and objects that cannot be there together, are errors before
//     anything is downloaded. Objects, their sizes and their number have limits.
//   - Nothing but the credentials of the source itself is used: the server's own identity is lent to nobody.
//   - Errors are *source.FetchError, in words of our own: what a store answers is not quoted.
//
// The stores' libraries are those that gocloud.dev uses. They are used without it, since it rewrites names of objects and
// keeps ETags to itself, which revisions are made of.
//
// The package knows no objects of the API and stores nothing.
package bucket
