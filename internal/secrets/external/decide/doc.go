// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides whether an ExternalSecret is read from its store now, and what happens to its target
// with what was read. It is pure: facts in, one decision out.
//
// Invariants, which the tests check:
//
//   - With CreatedOnce, and with an interval of 0, secrets are read once; again only if the target is gone
//     or somebody changed it.
//   - The next check is never later than the refresh interval says.
//   - What the store no longer has is deleted only if deletionPolicy says so.
//   - A Secret that another ExternalSecret owns is never written.
package decide
