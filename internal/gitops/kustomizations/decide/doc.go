// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide says what should happen to a Kustomization next, and why.
//
// [Decide] is a pure function: [Facts] in, one [Decision] out. The facts are plain values, the time among them; there is
// no client, clock, logger or randomness here, and a test lists this package's imports to keep it so. The package
// kustomization gathers the facts, acts on the decision and records what came of it.
//
// # Words
//
//   - The key stands for everything that a build depends on: the object's generation, the source's artifact, the versions
//     of the ConfigMaps and Secrets that it reads. Equal keys give equal builds.
//   - An object is dirty when it is not as it was left: somebody changed or removed it.
//   - A pass is an attempt to build and apply. A quiet one asks the API nothing.
//
// # Laws
//
// Whatever the facts, these hold (and are tested on random facts):
//
//   - Nothing is applied while the Kustomization is suspended or deleted, or before what it depends on is ready.
//   - What failed is tried again when something changed or the retry interval is over, and not before.
//   - What is as it was left is not applied again, unless somebody asked for it or the cluster cannot be watched.
//   - Objects are pruned in great number only by confirmation of the very revision, or when the Kustomization is deleted.
//   - A decision that waits for time says until when.
package decide
