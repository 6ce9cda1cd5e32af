// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package finding

// longest is the length from which words count as different: comparing them costs the product of their
// lengths, and they are foreign text.
const longest = 64

// Nearest is the first known word that differs least from a word, by at most some letters; empty for none.
func Nearest(word string, known []string, most int) string {
	best, distance := "", most+1
	for _, other := range known {
		if d := edits(word, other); d < distance {
			best, distance = other, d
		}
	}
	return best
}

// edits is the number of letters to insert, remove or replace that turn one word into another.
func edits(a, b string) int {
	if len(a) > longest || len(b) > longest {
		return longest
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			before, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, before+cost)
		}
	}
	return row[len(b)]
}
