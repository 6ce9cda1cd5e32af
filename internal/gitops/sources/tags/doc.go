// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package tags is the controller of ModuleSources: it publishes tags of git repositories as versions
// of modules in the registry.
//
// Nouns:
//
//   - A look lists the tags of a repository, and publishes the new ones.
//   - A batch is what one look publishes at most. Then the status shows the progress, and the next
//     look follows at once.
//   - A verdict is the result of an attempt to publish a tag, see package decide. Verdicts are kept in
//     memory; after a restart refused tags are tried again once.
//   - The publisher of a ModuleSource is its service account. The API server's RBAC decides where it
//     may publish, so that a namespace cannot publish under another one's name.
//
// Invariants:
//
//   - A published version never changes, whatever happens to its tag: the registry refuses other
//     content, and the refusal is in the status. A deleted tag deletes nothing.
//   - A tag is fetched once. The trees of tags exist only until they are packed, a few at a time.
//   - One tag that cannot be published does not delay the others.
//   - A worker never waits for a repository. Looks run beside the workers, a few at a time for each
//     host.
//   - Nothing is executed, and nothing of a repository leads out of its module's directory.
//
// A reconciliation gathers the object and the memory, decides (packages decide, pure), starts a look
// or records its result, and sends events.
package tags
