// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package decide decides what happens to tenants and their objects next, and why.
//
// Its functions are pure: facts in, one decision out. Facts are plain values, including the time;
// there is no client, clock, logger or randomness here, and a test checks this package's imports.
// The package controller gathers the facts, acts on the decisions and records the results.
//
//   - [Registry]: rows, templates and tenants: which tenants to create, change and delete.
//   - [Tenant]: the objects of one tenant: which to write now, and the tenant's status.
//   - [Deletion]: the order in which a tenant's objects are removed.
//
// # Terms
//
//   - A tenant is wanted while its row is active and its template exists. An unwanted tenant is due
//     at once, or after its grace period.
//   - Due tenants are held if there are too many, or if it is uncertain that their rows are gone.
//     They are deleted after a person has confirmed exactly these tenants.
//   - A tenant is on its way from the moment it gets a template change until it is ready.
//   - An object is unchanged ("as left") if neither its manifest nor the object has changed since
//     the last write.
//
// # Laws
//
// Whatever the facts, these hold (and are tested on random facts):
//
//   - If the rows cannot be read, nothing is created, changed or deleted, except tenants whose
//     template is deleted.
//   - No tenant is deleted because of rows that were read before its grace period ended or its
//     deletion was confirmed.
//   - Held tenants are not deleted. A rejected row deletes no tenant. No wanted tenant is deleted.
//     Rows that disappear one by one within a moment are held like rows that disappear at once.
//   - A template change never has more tenants on their way than maxSkew. It only reaches the
//     canaries until all of them are ready, and no further tenant after one has failed, even if the
//     server stops at any time.
//   - A create-once object is never written while it exists.
//   - A retained object, or one with another owner, is never deleted; nor is one that is still
//     wanted.
//   - An object is not created or changed before its dependencies are ready, and is removed before
//     them.
package decide
