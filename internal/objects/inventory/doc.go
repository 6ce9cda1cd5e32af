// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package inventory has what statuses record of the objects that an owner has: their names with
// full kinds, and short texts by which a restarted server tells whether an object is as it was
// left.
//
// An object is in the inventory before it is written and until it is known to be gone, so that a
// crash leaves no unknown object. Controllers follow that rule; this package makes the
// lists and texts.
package inventory
