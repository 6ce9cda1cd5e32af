// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"fmt"
	"strings"
)

// Counts say how much a plan changes, or an apply has changed. As in tofu, a replacement counts as
// one addition and one destruction.
type Counts struct {
	Add     int `json:"add"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
	Import  int `json:"import,omitempty"`
	Forget  int `json:"forget,omitempty"`
}

// count adds one action, which is not a replacement.
func (c *Counts) count(a Action) {
	switch a {
	case Create:
		c.Add++
	case Update:
		c.Change++
	case Delete:
		c.Destroy++
	case Forget:
		c.Forget++
	case Import:
		c.Import++
	}
}

// Zero reports whether all counts are zero. A plan that only moves resources or changes outputs
// counts nothing, but has changes.
func (c Counts) Zero() bool { return c == Counts{} }

// Summary returns the short form for columns: "+2 ~1 -0".
func (c Counts) Summary() string {
	return fmt.Sprintf("+%d ~%d -%d", c.Add, c.Change, c.Destroy)
}

// Sentence returns the long form: "Plan: 2 to add, 1 to change, 0 to destroy."
func (c Counts) Sentence() string {
	var parts []string
	if c.Import > 0 {
		parts = append(parts, fmt.Sprintf("%d to import", c.Import))
	}
	parts = append(parts,
		fmt.Sprintf("%d to add", c.Add),
		fmt.Sprintf("%d to change", c.Change),
		fmt.Sprintf("%d to destroy", c.Destroy))
	if c.Forget > 0 {
		parts = append(parts, fmt.Sprintf("%d to forget", c.Forget))
	}
	return "Plan: " + strings.Join(parts, ", ") + "."
}
