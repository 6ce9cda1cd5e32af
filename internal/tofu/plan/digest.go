// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"
)

// digest covers the effect of a plan: each change's address, actions and both sides, with secret
// values and unknown places. It excludes time, version and state of the plan.
func (s *shown) digest() string {
	type change struct {
		Address, Previous, Deposed string
		Change                     shownChange
	}
	changes := []change{}
	for i := range s.ResourceChanges {
		c := &s.ResourceChanges[i]
		if !c.matters() {
			continue
		}
		one := change{Address: c.Address, Deposed: c.Deposed, Change: c.Change}
		if c.moved() {
			one.Previous = c.PreviousAddress
		}
		changes = append(changes, one)
	}
	slices.SortFunc(changes, func(a, b change) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Deposed, b.Deposed))
	})
	outputs := map[string]shownChange{}
	for name, c := range s.OutputChanges {
		if action, _ := c.action(); action != NoOp {
			outputs[name] = c
		}
	}
	h := sha256.New()
	if json.NewEncoder(h).Encode([]any{"yuba changes 1", changes, outputs}) != nil {
		return "" // impossible: all of it was JSON before
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}
