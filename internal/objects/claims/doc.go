// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package claims decides which owner of this process gets an object, before the object is written: of
// two owners that start at the same moment, and do not see the object yet, only one gets it.
//
// The nouns:
//
//   - A place is an object of a cluster.
//   - An owner holds a place, or waits for it. A holder keeps it until it releases it, is gone, or
//     loses it to force.
//   - The heirs of a holder are the owners that wait for its place. They are returned when it becomes
//     free, to be woken.
//
// Claims are in memory only. An object's own label is not a claim: it counts until the owner that it
// names has released the object, and only if the caller passes it.
package claims
