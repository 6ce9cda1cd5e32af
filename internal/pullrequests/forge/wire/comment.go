// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"slices"

	"github.com/yuba-dev/yuba/internal/pullrequests/forge"
)

// Newest keeps the first status of each name of a list that has the newest first.
func Newest(list []forge.Status) []forge.Status {
	seen := map[string]bool{}
	return slices.DeleteFunc(list, func(s forge.Status) bool {
		again := seen[s.Name]
		seen[s.Name] = true
		return again
	})
}

// FitStatus shortens a status to a forge's limits. The names of too long ones differ in their ends, so those stay.
func FitStatus(s forge.Status, l forge.Limits) forge.Status {
	if runes := []rune(s.Name); len(runes) > l.Name {
		s.Name = "…" + string(runes[len(runes)-l.Name+1:])
	}
	if runes := []rune(s.Description); len(runes) > l.Description {
		s.Description = string(runes[:l.Description-1]) + "…"
	}
	return s
}

// Since removes comments that did not change at or after a time, and sorts the others by creation.
func Since(list []forge.Comment, since func(forge.Comment) bool) []forge.Comment {
	list = slices.DeleteFunc(list, func(c forge.Comment) bool { return !since(c) })
	slices.SortStableFunc(list, func(a, b forge.Comment) int { return a.Created.Compare(b.Created) })
	return list
}

// Opinions keeps the last opinion of each person of a list that has the oldest first. An empty verdict withdraws an
// earlier one.
func Opinions(list []forge.Review) []forge.Review {
	var out []forge.Review
	for _, r := range list {
		out = slices.DeleteFunc(out, func(o forge.Review) bool { return o.Who == r.Who })
		if r.Verdict != "" {
			out = append(out, r)
		}
	}
	return out
}
