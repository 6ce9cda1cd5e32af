// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package operations

import (
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/web/history"
)

// plot is one quantity over time.
type plot struct {
	Title string
	// Now and Most are values with their units. Says is the plot in words.
	Now, Most, Says string
	// Line and Second are paths in a picture of plotWidth × plotHeight; Second is another quantity on
	// the same scale.
	Line, Second string
	From, To     time.Time
}

const (
	plotWidth, plotHeight = 600.0, 80.0
	// gap is the time without samples after which a line is broken.
	gap = 3 * history.Every
	// shortest is the least time that a plot shows.
	shortest = 30 * time.Minute
)

// plotOf draws values of samples; second may be nil.
func plotOf(title string, samples []history.Sample, unit func(float64) string, value, second func(history.Sample) float64) plot {
	p := plot{Title: title}
	if len(samples) == 0 {
		return p
	}
	p.From, p.To = samples[0].At, samples[len(samples)-1].At
	if p.To.Sub(p.From) < shortest {
		p.From = p.To.Add(-shortest)
	}
	highest, at := 0.0, p.To
	for _, s := range samples {
		if v := value(s); v > highest {
			highest, at = v, s.At
		}
	}
	scale := highest
	if second != nil {
		for _, s := range samples {
			scale = math.Max(scale, second(s))
		}
	}
	now := value(samples[len(samples)-1])
	p.Now, p.Most = unit(now), unit(highest)
	p.Says = fmt.Sprintf("%s: %s now, at most %s, at %s UTC", title, p.Now, p.Most, at.UTC().Format("15:04"))
	p.Line = p.path(samples, scale, value)
	if second != nil {
		p.Second = p.path(samples, scale, second)
	}
	return p
}

// path is a line through samples, broken at gaps.
func (p plot) path(samples []history.Sample, scale float64, value func(history.Sample) float64) string {
	var b strings.Builder
	var before time.Time
	for _, s := range samples {
		x := plotWidth * float64(s.At.Sub(p.From)) / float64(p.To.Sub(p.From))
		y := plotHeight
		if scale > 0 {
			y -= (plotHeight - 2) * value(s) / scale
		}
		letter := "L"
		if s.At.Sub(before) > gap {
			letter = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", letter, x, y)
		before = s.At
	}
	return b.String()
}

func whole(v float64) string { return fmt.Sprintf("%.0f", v) }

func cores(v float64) string { return fmt.Sprintf("%.2f cores", v) }

// size writes bytes for people.
func size(v float64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if v < 1000 {
			return fmt.Sprintf("%.3g %s", v, unit)
		}
		v /= 1000
	}
	return fmt.Sprintf("%.3g TB", v)
}

// plotsOf are the plots of a history.
func plotsOf(samples []history.Sample) []plot {
	return []plot{
		plotOf("Runs that execute, and places", samples, whole, func(s history.Sample) float64 { return float64(s.Working) }, func(s history.Sample) float64 { return float64(s.Places) }),
		plotOf("Runs that wait", samples, whole, func(s history.Sample) float64 { return float64(s.Waiting) }, nil),
		plotOf("Runs ended a minute, and failed", samples, whole, func(s history.Sample) float64 { return float64(s.Ended) }, func(s history.Sample) float64 { return float64(s.Failed) }),
		plotOf("Reconciliations a minute without a run", samples, whole, func(s history.Sample) float64 { return float64(s.Skipped) }, nil),
		plotOf("Processor: server, and runner", samples, cores, func(s history.Sample) float64 { return s.CPU }, func(s history.Sample) float64 { return s.RunnerCPU }),
		plotOf("Memory: server, and runner", samples, size, func(s history.Sample) float64 { return float64(s.Memory) }, func(s history.Sample) float64 { return float64(s.RunnerMemory) }),
	}
}
