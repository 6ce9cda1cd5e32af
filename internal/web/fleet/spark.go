// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fleet

import (
	"fmt"
	"math"
	"strings"
	"time"
)

// spark is a picture of the recent runs of a stack: a bar for each, higher the longer it took. Bars
// of failed runs hang from the top, so that they differ in more than colour.
type spark struct {
	Width, Height int
	Bars          []bar
	// Says says the same in words.
	Says string
}

type bar struct {
	X, Y, Width, Height int
	// Class is good, bad or other.
	Class string
	// Says names the run.
	Says string
}

const (
	barWidth, barGap, sparkHeight = 4, 1, 18
	// shortest is drawn with the least height, and each doubling adds a pixel.
	shortest, leastHeight = 250 * time.Millisecond, 4
)

func sparkOf(runs []ended) *spark {
	if len(runs) == 0 {
		return nil
	}
	s := &spark{Width: len(runs)*(barWidth+barGap) - barGap, Height: sparkHeight}
	counts := map[string]int{}
	for i, r := range runs {
		height := leastHeight
		if r.took > shortest {
			height += int(math.Log2(float64(r.took) / float64(shortest)))
		}
		height = min(height, sparkHeight-2)
		b := bar{X: i * (barWidth + barGap), Y: sparkHeight - height, Width: barWidth, Height: height, Class: "good",
			Says: fmt.Sprintf("%s %s %s, %s", r.at.UTC().Format("2006-01-02 15:04"), r.operation, r.status, r.took.Round(100*time.Millisecond))}
		switch r.status {
		case "succeeded":
		case "failed", "interrupted":
			b.Class, b.Y = "bad", 0
		default:
			b.Class = "other"
		}
		counts[r.status]++
		s.Bars = append(s.Bars, b)
	}
	var words []string
	for _, status := range []string{"succeeded", "failed", "interrupted", "canceled"} {
		if n := counts[status]; n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, status))
		}
	}
	s.Says = fmt.Sprintf("Last %d runs: %s", len(runs), strings.Join(words, ", "))
	if len(runs) == 1 {
		s.Says = "Last run: " + runs[0].status
	}
	return s
}
