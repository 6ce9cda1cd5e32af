// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package controller keeps the artifacts of sources where Flux's source-controller is not there to do it: of
// GitRepositories, OCIRepositories and Buckets, with the conditions, reasons and events that Flux publishes.
// ExternalArtifacts are made by others; it only says when their archive is gone.
//
// The nouns:
//
//   - An upstream is where a source's content comes from. What it has is found by a look, which is cheap.
//   - An artifact is the tree of a revision as an archive in the blob store, under its digest. Two sources whose trees are
//     equal have one.
//   - The memory of a source is what this process knows of it beside the object: when it was looked at, how often that
//     failed, what was found and is not written to the object yet.
//
// Invariants:
//
//   - A worker never waits for an upstream. Looks and fetches go on beside the workers, a few at a time for each host, so
//     that a host that does not answer holds up nobody but those who named it.
//   - A look that finds nothing new makes no request to the API.
//   - The last good artifact keeps serving whatever happens to the upstream; Ready then says since when nothing newer
//     can be had.
//   - A tree that several sources of an upstream have is fetched and packed once.
//   - Nothing in a tree, an archive or an include leads out of the directory it was put into.
//
// A pass gathers the object and the memory, decides (package decide, pure), starts a look or records what one found, and
// announces it. The package knows nothing of git, registries and buckets: that is what an Upstream hides.
package controller
