// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	_ "embed"
	"fmt"

	"sigs.k8s.io/yaml"
)

//go:embed limits.yaml
var limitsFile []byte

// limit is what a number should be at most.
type limit struct {
	// Target is the number's aim, in the unit of the result, if it has one.
	Target *float64 `json:"target,omitempty"`
	// Measured is what it was when it was last written down, of so many Trials.
	Measured *float64 `json:"measured,omitempty"`
	Trials   int      `json:"trials,omitempty"`
	// Slack is by how much more than Measured is taken for noise, as a factor.
	Slack float64 `json:"slack,omitempty"`
}

// verdict says in a word how a value compares.
func (l *limit) verdict(value float64) string {
	switch {
	case l == nil:
		return ""
	case l.Target != nil && value > *l.Target:
		return "OVER TARGET"
	case l.Measured != nil && value > *l.Measured*l.Slack:
		return "worse than before"
	}
	return "ok"
}

func readLimits() (map[string]*limit, error) {
	var limits map[string]*limit
	if err := yaml.UnmarshalStrict(limitsFile, &limits); err != nil {
		return nil, fmt.Errorf("read limits.yaml: %w", err)
	}
	return limits, nil
}

// judge puts beside each result its limit.
func judge(results []result, limits map[string]*limit) []result {
	judged := make([]result, len(results))
	for i, r := range results {
		r.Limit = limits[r.Name]
		judged[i] = r
	}
	return judged
}
