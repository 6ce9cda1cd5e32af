// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package backup writes a data directory into one archive and restores an archive into a data
// directory.
//
// An archive is a tar with these members, in this order:
//
//	yuba-backup.json    what this is: format number, author and time
//	etcd.db             a snapshot of the API's store, readable by etcd's own tools
//	keys/…              certificates and keys, needed to read the snapshot and the blobs
//	blobs/…             artifacts, logs, plans and state versions, encrypted as they are stored
//	registry/…          published modules and providers, without the mirror, which is a cache
//	manifest.json       length and SHA-256 of every member before it
//
// A backup without a registry, such as one of an older Yuba, leaves the directory's registry in place:
// it needs no keys, so it stays usable.
//
// Invariants:
//   - The snapshot is taken first. A blob is written before an object refers to it, so the archive
//     has every blob that its objects refer to.
//   - The manifest comes last: a truncated archive has none and is refused.
//   - Stage changes nothing that is in use. It moves a complete, verified archive to
//     restore.pending with one rename.
//   - ApplyPending, at the next start, moves the old data to before-restore-<time> and the new data
//     in. Each step is a rename that can be continued, so a kill in between loses neither.
package backup
