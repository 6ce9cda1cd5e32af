// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fresh reads objects from a cache without missing what this process itself has written.
//
// A watch brings what was written a moment later. Whoever reads the cache in between sees the object as it was before,
// and would do again what is done. Reading past the cache costs a request for each look at an object; with a thousand
// objects that is most of the work. A [Reader] remembers the versions that were written here and reads past the cache
// only until that has caught up.
//
// What others write is seen when the watch brings it, as in any cache: every decision that must not be made on an old
// object has to be bound to its resource version, or made on one read from the API.
package fresh
