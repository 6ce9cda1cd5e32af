// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package state keeps the states of stacks, their versions and their locks.
//
// A state is the document in which tofu remembers what it manages. It lies in a state Secret, exactly as OpenTofu's own
// kubernetes backend keeps it, so that plain tofu, or another controller, reads and writes the same state. Every state
// that Yuba writes is first stored as a version in the blob store, below
//
//	states/NAMESPACE/SECRET/VERSION
//
// sealed and compressed. Whoever has the key of the blob store recovers any version without Yuba and without the API:
//
//	age -d -i DATA_DIR/keys/blob.agekey DATA_DIR/blobs/states/NAMESPACE/SECRET/VERSION | gunzip > terraform.tfstate
//
// A lock is a Lease with the holder's LockInfo in an annotation, again as OpenTofu's backend keeps it.
//
// A serial counts a state's changes; a lineage names the line of states it belongs to; a digest names its exact bytes.
// A mark is these three together: which state a writer started from.
//
// Invariants:
//
//   - "No state" is only said when none has ever been there. A Secret that is gone although versions are stored, or
//     although the stack was applied before, is a *VanishedError.
//   - What cannot be read as a state is never overwritten by a write, only by an explicit rollback, which keeps a copy.
//   - A write replaces only the state its writer started from. When somebody else wrote meanwhile, the bytes are kept as
//     a version, the Secret stays as it is, and the error is a *ConflictError.
//   - When Write returns without an error the version is durable and the Secret holds it. Repeating a write is harmless.
//   - A state that OpenTofu encrypted stays as it is; only its serial and lineage are known.
//
// The client given to New must not cache: states are neither held in memory nor served stale.
//
// The package does not decide when to lock, whether to apply, or how many versions to keep.
package state
