// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package catalog keeps the modules of a registry in a bucket with the layout of boring-registry, and
// knows what is there without asking the bucket.
//
// Nouns:
//
//   - A release is one version of a module: an archive, and beside it what only Yuba knows of it.
//   - A notice says that a release is deprecated (do not choose it for new code) or revoked (do not
//     use it).
//   - The index is the list of releases in memory. It is refreshed in the background, and for one
//     module when something unknown is asked for.
//
// Invariants:
//
//   - A published archive never changes. Publishing the same bytes again succeeds and changes nothing;
//     other bytes are a conflict. This holds for concurrent publishers on several machines.
//   - A release is compared with what the bucket has right before it is stored, also by other servers.
//     Only two servers that store releases of one module in the same moment do not see each other's.
//   - Who published a release, and from where, is recorded once, by the server that created its archive,
//     or completed it. Reading the archive again never replaces that.
//   - Uploads are limited, in number and in bytes on disk, and so are archives that are read at the same
//     time, see package uploads. Nothing waits for the bucket without a deadline.
//   - The archive alone decides whether a release exists. Anything lost beside it, for instance in a
//     crash, is read from the archive again.
//   - Another program may write archives to the bucket at any time. They appear after the next
//     refresh, or when they are first asked for.
//   - Requests that the index answers do not touch the bucket. Requests for unknown names list one
//     prefix at most once in a while.
//   - Notices are objects of their own, so that marking and publishing never overwrite each other.
//
// The package does not authorise anybody.
package catalog
