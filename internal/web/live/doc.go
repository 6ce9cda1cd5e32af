// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package live tells open pages that something which they show has changed.
//
// A page subscribes to topics: kinds of objects, narrowed to a namespace or one object. The hub hears
// of changes from the watches of this process, and wakes each subscriber once, however many changes
// there were since it last looked. It carries no content: the page looks again, as the person.
//
// Invariants:
//
//   - Publishing never waits for a subscriber.
//   - A change after Subscribe has returned is never missed.
//   - Without changes, subscribers cost no time.
package live
