// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"strings"
)

// Prune contains the facts about the pruning of objects.
type Prune struct {
	// Call names the Kustomization on a command line.
	Call     string
	Revision string
	// Confirmed is the revision whose pruning was confirmed.
	Confirmed string
	// Inventory is the number of objects, Stale the names of those to prune.
	Inventory int
	Stale     []string
}

// manyObjects is the number of objects from which pruning more than half requires confirmation: a
// wrong path or an empty directory would delete everything, even cloud resources of stacks.
const manyObjects = 10

// named is the number of objects that a message names.
const named = 5

// ReasonPruneHeld is the reason for a held pruning.
const ReasonPruneHeld = "PruneHeld"

// HoldPrune returns why pruning requires confirmation; empty if it does not.
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
	return fmt.Sprintf("Applied revision: %s, but pruning %d of %d objects requires confirmation: %s%s. Confirm it for this revision:\n"+
		"    yuba kubectl annotate kustomization %s yuba.dev/confirm-prune=%s --overwrite",
		p.Revision, stale, p.Inventory, strings.Join(list, ", "), more, p.Call, p.Revision)
}
