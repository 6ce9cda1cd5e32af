// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
)

// Prune is a wish to remove what a build does not have any more.
type Prune struct {
	// Call is how the Kustomization is named on a command line.
	Call     string
	Revision string
	// Confirmed is the revision whose pruning a person has confirmed.
	Confirmed string
	// Inventory is how many objects there were, Stale the names of those that are to go.
	Inventory int
	Stale     []string
}

// manyObjects is from how many objects on the removal of more than half needs a person: a wrong path or an emptied
// directory removes all at once, and with a Terraform object its cloud resources may go.
const manyObjects = 10

// named is how many objects a message names.
const named = 5

// ReasonPruneHeld is the reason of a Kustomization whose objects were not pruned.
const ReasonPruneHeld = "PruneHeld"

// HoldPrune says why the objects must not be pruned before a person has confirmed it; empty when they may.
func HoldPrune(p Prune) string {
	stale := len(p.Stale)
	if stale < manyObjects || 2*stale <= p.Inventory || p.Confirmed == p.Revision && p.Revision != "" {
		return ""
	}
	list := p.Stale
	more := ""
	if len(list) > named {
		list, more = list[:named], fmt.Sprintf(" and %d more", len(list)-named)
	}
	return fmt.Sprintf("Applied revision: %s, but %d of %d objects are not in it any more, and none of them was removed: %s%s. "+
		"If they are to go, confirm it for this revision:\n    yuba kubectl annotate kustomization %s yuba.dev/confirm-prune=%s --overwrite",
		p.Revision, stale, p.Inventory, strings.Join(list, ", "), more, p.Call, p.Revision)
}
