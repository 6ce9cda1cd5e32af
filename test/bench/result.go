// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"slices"
	"time"
)

// result is one number.
type result struct {
	// Name is the name in limits.yaml, such as "first-apply-10".
	Name string `json:"name"`
	What string `json:"what"`
	Unit string `json:"unit"`
	// Value is compared with the limit: a median, or a ratio of medians.
	Value float64 `json:"value"`
	// Yuba and ByHand (plain tofu) are the medians of a ratio; CPURatio compares CPU times of all
	// processes.
	Yuba     *spread `json:"yuba,omitempty"`
	ByHand   *spread `json:"byHand,omitempty"`
	CPURatio float64 `json:"cpuRatio,omitempty"`
	// MachineRatio compares the busy time of the whole machine, including the benchmark. On an
	// otherwise idle machine it is close to CPURatio; if not, some processes were not counted.
	MachineRatio float64 `json:"machineRatio,omitempty"`
	Trials       int     `json:"trials"`

	Limit *limit `json:"limit,omitempty"`
}

// spread is the distribution of measurements, in milliseconds.
type spread struct {
	Median float64 `json:"median"`
	P10    float64 `json:"p10"`
	P90    float64 `json:"p90"`
}

// milliseconds converts durations.
func milliseconds(times []time.Duration) []float64 {
	out := make([]float64, len(times))
	for i, t := range times {
		out[i] = float64(t.Microseconds()) / 1000
	}
	return out
}

func spreadOf(values []float64) *spread {
	return &spread{Median: quantile(values, 0.5), P10: quantile(values, 0.1), P90: quantile(values, 0.9)}
}

// quantile interpolates between the two values nearest to q.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	at := q * float64(len(sorted)-1)
	i := int(at)
	if i+1 == len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// comparison is the same work done by Yuba and by plain tofu, in turns.
type comparison struct {
	yuba, byHand       []time.Duration
	yubaCPU, byHandCPU time.Duration
}

func (c *comparison) result(name, what string) result {
	r := result{Name: name, What: what, Unit: "x", Yuba: spreadOf(milliseconds(c.yuba)), ByHand: spreadOf(milliseconds(c.byHand)),
		Trials: len(c.yuba)}
	if r.ByHand.Median > 0 {
		r.Value = r.Yuba.Median / r.ByHand.Median
	}
	if len(c.yuba) > 0 && len(c.byHand) > 0 && c.byHandCPU > 0 {
		r.CPURatio = (c.yubaCPU.Seconds() / float64(len(c.yuba))) / (c.byHandCPU.Seconds() / float64(len(c.byHand)))
	}
	return r
}
