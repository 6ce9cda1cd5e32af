// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller maintains the artifacts of sources without Flux's source-controller: of
// GitRepositories, OCIRepositories and Buckets, with Flux's conditions, reasons and events. For
// ExternalArtifacts, which others create, it only reports missing archives.
//
// Nouns:
//
//   - An upstream is the origin of a source's content. A look finds its current revision and is
//     cheap.
//   - An artifact is the tree of a revision as an archive in the blob store, stored under its
//     digest. Sources with equal trees share one.
//   - The memory of a source is the knowledge of this process besides the object: the last look,
//     the number of failures, and results that are not written yet.
//
// Invariants:
//
//   - A worker never waits for an upstream. Looks and fetches run beside the workers, a few at a
//     time for each host, so an unresponsive host delays only its own sources.
//   - A look that finds nothing new makes no API request.
//   - The last good artifact is served whatever happens to the upstream; Ready then shows since
//     when no newer one is available.
//   - A tree that several sources of an upstream share is fetched and packed once.
//   - Nothing in a tree, an archive or an include leads out of its directory.
//
// A reconciliation gathers the object and the memory, decides (package decide, pure), starts a look
// or records its result, and sends events. The package does not know git, registries and buckets:
// an Upstream hides them.
package controller
