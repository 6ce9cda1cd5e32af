// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package parcel copies the content of a stack from one blob store to another: the blobs of two
// homes are encrypted for different keys.
//
// A parcel is a tar stream with everything that a blob store has of one stack, in clear text. Its
// members, in this order:
//
//	yuba-stack.json               what this is: format number, stack, author and time
//	lock.hcl                      the dependency lock file of the last run
//	states/VERSION                versions of the state, each a gzip file with the version's note
//	artifacts/SHA256              source archives that runs of the stack may need again
//	runs/RUN/record.json …        records, logs and plans of runs that have ended
//	manifest.json                 length and SHA-256 of every member before it
//
// A long content travels in parts (Write with a Part, Merge, Split): the API server of a cluster ends
// requests after a minute. Each part is a parcel with some of the units: a unit is a member, or all
// members of a run. A part's manifest names its last unit if another part follows.
//
// A member that is larger than a chunk is split into consecutive entries with its name: its length
// is not known before it was read.
//
// Invariants:
//   - Every member has a limit, and so have the number and the sum of those of a parcel. Reading a parcel never needs
//     more memory than the largest state and some small members.
//   - Nothing is stored before the whole parcel was received and checked against its manifest, which
//     comes last. Until then, members are below a prefix of their own.
//   - Nothing that exists is replaced by other content: neither a version, nor a run, nor any part of
//     it. Only the lock file and the last quiet pass are the newest ones.
//   - Read takes nothing on trust: names, ids, digests and records are checked, the stack and the
//     state are the caller's, and a run brings no token, runner, lock or limit.
//   - A plan is imported only if its record proves which readable forms belong to it.
//   - Publishing may be interrupted. Everything that it stored until then is correct by itself, and
//     reading the parcel again completes it.
//   - Blobs that cannot be read are left out and listed in the manifest.
//
// The package decides neither who may read or write a parcel, nor when.
package parcel
