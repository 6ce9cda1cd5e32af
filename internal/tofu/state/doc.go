// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package state stores the states of stacks, their versions and their locks.
//
// A state is the document in which tofu records what it manages. It is in a state Secret, exactly
// as OpenTofu's kubernetes backend stores it, so that plain tofu, or another controller, reads and
// writes the same state. Every state that Yuba writes is first stored as a version in the blob
// store, below
//
//	states/NAMESPACE/SECRET/VERSION
//
// encrypted and compressed. The key of the blob store is enough to recover any version without Yuba
// and without the API:
//
//	age -d -i DATA_DIR/keys/blob.agekey DATA_DIR/blobs/states/NAMESPACE/SECRET/VERSION | gunzip > terraform.tfstate
//
// A lock is a Lease with the holder's LockInfo in an annotation, also as in OpenTofu's backend.
//
// A serial counts a state's changes. A lineage identifies the sequence of states that it belongs
// to. A digest identifies its exact bytes. A mark consists of these three and identifies the state
// that a writer started from.
//
// Invariants:
//
//   - A state is "missing" only if there has never been one. A Secret that is gone although
//     versions are stored, or although the stack was applied before, is a *VanishedError.
//   - A write never overwrites content that is not a state; only an explicit rollback does, and it
//     keeps a copy.
//   - A write replaces only the state that its writer started from. If another writer has written
//     meanwhile, the new bytes are stored as a version, the Secret is unchanged, and the error is a
//     *ConflictError.
//   - When Write returns without an error, the version is durable and the Secret contains it.
//     Repeating a write is safe. FinishWrite repeats it from the version alone.
//   - A state that OpenTofu has encrypted is unchanged; only its serial and lineage are known.
//
// The client passed to New must not cache: states are neither kept in memory nor served stale.
//
// The package does not decide when to lock, whether to apply, or how many versions to keep.
package state
