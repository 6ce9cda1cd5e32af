// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package uploads limits what concurrent uploads to the registry may take: places, room on disk, and
// readings of what was uploaded.
//
// Nouns:
//
//   - An upload has one of a few places from its first byte until it is stored or refused.
//   - The room is the number of bytes of all uploads that are on disk at the same time.
//   - A reading parses or unpacks an archive, which costs a core.
//
// Invariants:
//
//   - One publisher never has all places.
//   - An upload that finds no place or room ends with a [*BusyError] soon, and nothing of it is kept. An
//     upload with a place waits for its reading as long as its context allows.
//
// The package stores nothing, and knows neither modules nor providers.
package uploads
