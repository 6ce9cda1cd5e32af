// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package queue

import (
	"cmp"
	"slices"
	"time"
)

// Line is what waits of one group in one class.
type Line struct {
	Group   string
	Class   Class
	Waiting int
	// Oldest is since when its first waits.
	Oldest time.Time
}

// Lines counts what waits, by group and class. It costs as much as there are groups, however many
// items they have.
func (q *Queue) Lines() []Line {
	var lines []Line
	for _, g := range q.groups {
		for class, items := range g.items {
			if len(items) > 0 {
				lines = append(lines, Line{Group: g.name, Class: Class(class), Waiting: len(items), Oldest: items[0].Since})
			}
		}
	}
	slices.SortFunc(lines, func(a, b Line) int { return cmp.Or(cmp.Compare(a.Group, b.Group), cmp.Compare(a.Class, b.Class)) })
	return lines
}
