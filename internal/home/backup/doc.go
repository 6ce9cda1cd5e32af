// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package backup writes a data directory into one archive and puts an archive back into a data directory.
//
// An archive is a tar with these members, in this order:
//
//	yuba-backup.json    what this is: the format's number, who wrote it and when
//	etcd.db             a snapshot of the API's store, as etcd's own tools read it
//	keys/…              certificates and keys, without which the snapshot and the blobs cannot be read
//	blobs/…             artifacts, logs, plans and state versions, sealed as they are stored
//	manifest.json       length and SHA-256 of every member before it
//
// Invariants:
//   - The snapshot is taken first. A blob is written before an object mentions it, so the archive has every blob that its
//     objects mention.
//   - The manifest comes last: an archive that was cut off has none and is refused.
//   - Stage changes nothing that is in use. It puts a complete, verified archive into restore.pending by one rename.
//   - ApplyPending, at the next start, moves the old data to before-restore-<time> and the new in. Every step is a rename
//     that can be found half done and continued, so a kill in between loses neither old nor new.
package backup
