// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package rollout decides which instances follow a change of their definition now.
//
// Terms:
//
//   - The target is the accepted definition; the base is the one that the last completed rollout
//     brought to all instances.
//   - An instance is unaffected if target and base make the same object of it. It is never written.
//   - An instance is on its way from the moment its object is written from the target until it is
//     ready. An instance whose plan waits for approval is on its way as long as that takes.
//   - Its turn: an instance without it keeps following the base, also when its user changes it.
//
// The waves are those of package internal/objects/rollout. [Decide] adds what definitions say:
// maxUnavailable as a share, and a pause.
//
// Laws, tested on random facts, besides those of internal/objects/rollout:
//
//   - A change that alters no object writes nothing and completes at once.
//   - Nothing begins while the rollout is paused, and nothing that has begun is undone.
//   - An instance that has its turn keeps it, whatever happens to the others.
package rollout
