// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package images is the controller of Flux's image automation: ImageRepositories, ImagePolicies and
// ImageUpdateAutomations.
//
// Nouns:
//
//   - A scan lists the tags of an image for an ImageRepository. This process keeps them in memory.
//   - An election finds the latest tag for an ImagePolicy, and its digest if it is requested.
//   - An update writes elected images into the files of a git repository for an
//     ImageUpdateAutomation, and pushes a commit.
//   - Work is any of them. An outcome is its result.
//   - A purpose is what differs between the three kinds.
//
// Invariants:
//
//   - A worker never waits for a registry or a repository. Work runs beside the workers, a few at a
//     time for each host.
//   - Work without news writes nothing.
//   - After a restart an elected image stays elected until the tags are known again.
//   - An update pushes only what package setters changed, never with force, and never over commits of
//     others. Files that it cannot change are left alone and named in the status.
//   - Credentials come from Secrets of the namespace of the object that names them. Another namespace's
//     image needs its permission (accessFrom), another namespace's repository that of the server.
//
// A reconciliation gathers the object and the memory, decides (package decide of sources, pure), starts
// work or records its outcome, and sends events.
package images
