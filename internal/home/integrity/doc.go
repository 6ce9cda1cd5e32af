// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package integrity decides whether Yuba may start in a data directory.
//
// The objects, keys and blobs of a home depend on each other: without the key its Secrets cannot be
// read, and without its objects a home looks unused. The parts themselves do not notice: etcd
// starts in an empty directory, and missing keys are created.
//
// Nouns:
//   - The record (home.json) says which parts belong together: the identity of the store,
//     fingerprints of keys, and whether blobs are in the directory. A successful start writes it,
//     and so does an accepted loss.
//   - A refusal names the part that is missing, damaged or from another home, and the ways to
//     resolve it with their costs.
//   - A loss is accepted by name, so a flag that accepts one loss never accepts another.
//
// Invariants:
//   - Check and CheckBlobs change nothing.
//   - Accept deletes nothing. It moves what it gives up to before-accepted-loss-TIME.
//   - Controllers whose objects are in another API share this record. They write only its part
//     about blobs, and none if "yuba up" has kept no record.
//   - A home without a record was created by an older Yuba, or its first start did not end. Its
//     kubeconfig and encrypted blobs distinguish the two cases.
package integrity
