// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package integrity decides whether Yuba may start in a data directory.
//
// The objects, the keys and the blobs of a home only mean something together: without the key its Secrets cannot be read,
// and without its objects a home would look like one that was never used. The parts themselves cannot tell: etcd starts in
// an empty directory, and keys that are missing are made.
//
// Nouns:
//   - The record (home.json) says which parts belong together: the identity of the store, fingerprints of keys, and whether
//     blobs are kept in the directory. A start that has succeeded writes it, and so does
//     an accepted loss.
//   - A refusal names the part that is missing, damaged or another home's, and the ways back. Each way says what it costs.
//   - A loss is what a person accepts by name, so that the flag that accepts one loss never accepts another.
//
// Invariants:
//   - Check and CheckBlobs change nothing.
//   - Accept deletes nothing. It moves what it gives up to before-accepted-loss-TIME.
//   - Controllers whose objects are in another API share this record. They write only what it says of the blobs,
//     and none where "yuba up" kept no record.
//   - A home without a record was made by an older Yuba, or its first start did not end. Its kubeconfig and sealed blobs tell
//     the two apart.
package integrity
