// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide says what should happen to tenants and their objects next, and why.
//
// Its functions are pure: facts in, one decision out. The facts are plain values, the time among them; there is no client,
// clock, logger or randomness here, and a test lists this package's imports to keep it so. The package controller gathers
// the facts, acts on the decisions and records what came of them.
//
//   - [Registry]: rows, templates and tenants: which tenants are to be made, changed and deleted.
//   - [Rollout]: which tenants get a change of their template now.
//   - [Tenant]: the objects of one tenant: which are to be written now, and how the tenant stands.
//   - [Deletion]: in which order a tenant loses objects.
//
// # Words
//
//   - A tenant is wanted while its row is active and its template is there. What is not wanted is due at once, or when its
//     time of grace is over.
//   - Due tenants are held when they are too many, or when it is in doubt that their rows are gone. They go when somebody has
//     confirmed exactly that.
//   - A tenant is on its way from the moment it gets a change of its template until it is ready.
//   - An object is as it was left when neither its manifest nor the object has changed since it was last written.
//
// # Laws
//
// Whatever the facts, these hold (and are tested on random facts):
//
//   - When the rows could not be read, nothing is made, changed or deleted, but for tenants whose template is deleted.
//   - Nobody goes because of rows that were read before it was known that they may go.
//   - What is held is not deleted. A rejected row deletes nobody. No wanted tenant is deleted. Rows that vanish one by one within
//     a moment are held as those that vanish at once.
//   - A change of a template never brings more tenants on their way than maxSkew says, and reaches nobody but the canaries
//     before all of these are ready, and nobody at all after one has failed. That holds when the server ends at any time, too.
//   - An object that is made once is never written while it is there.
//   - An object that is to be retained, or is somebody else's, is never deleted; nor is one that is still wanted.
//   - An object is not made, and not changed, before what it depends on is ready; and goes after what depends on it.
package decide
