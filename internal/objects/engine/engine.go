// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"github.com/yuba-dev/yuba/internal/objects/claims"
)

// Owners tells the engine about the owners of one kind. Reconciles call it concurrently.
type Owners interface {
	// Exists reports whether an owner still exists; in doubt, it does.
	Exists(owner Owner) bool
	// Freed wakes owners: an object that they wait for may be free.
	Freed(owners []Owner)
}

// Inventory tells [Engine.Apply] what the owners of one kind have. Reconciles call it concurrently.
type Inventory interface {
	// Counts reports whether an object is in the inventory of an owner; in doubt, it is.
	Counts(owner Owner, id ID) bool
}

// Engine writes and deletes the objects of all owners of one kind, and knows which owner has which
// object. Its methods are safe for concurrent use by different owners.
type Engine struct {
	policy    Policy
	owners    Owners
	inventory Inventory
	claims    *claims.Book
}

// New makes an engine. inventory is nil if the owners have no batches.
func New(policy Policy, owners Owners, inventory Inventory) *Engine {
	return &Engine{policy: policy, owners: owners, inventory: inventory, claims: claims.New()}
}

// Keep releases an owner's claims on all objects but the wanted ones, and wakes owners that wait.
func (e *Engine) Keep(owner Owner, wanted func(claims.Place) bool) {
	e.owners.Freed(e.claims.Keep(owner, wanted))
}

// Free reports whether no other owner has claimed an object.
func (e *Engine) Free(at claims.Place, owner Owner) bool { return e.claims.Free(at, owner) }

// Forget drops the claims of an owner that is gone.
func (e *Engine) Forget(owner Owner) {
	e.owners.Freed(e.claims.Forget(owner))
}
