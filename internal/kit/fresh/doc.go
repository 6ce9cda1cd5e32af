// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package fresh reads objects from a cache without missing this process's own writes.
//
// A watch delivers a write a moment later. Until then the cache has the old object, and a
// controller would repeat its work. Bypassing the cache costs a request for each read; with a
// thousand objects that is most of the work. A [Reader] remembers the versions written by this
// process and bypasses the cache only until the cache has caught up.
//
// Writes of others appear when the watch delivers them. A decision that must not be based on an old
// object needs a resource version, or an object read from the API.
package fresh
