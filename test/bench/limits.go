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

// limit is the upper bound of a number.
type limit struct {
	// Target is the goal, in the unit of the result, if there is one.
	Target *float64 `json:"target,omitempty"`
	// Measured is the last recorded value, of this many Trials.
	Measured *float64 `json:"measured,omitempty"`
	Trials   int      `json:"trials,omitempty"`
	// Slack is the factor over Measured that counts as noise.
	Slack float64 `json:"slack,omitempty"`
}

// verdict compares a value with the limit.
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

// judge adds the limit to each result.
func judge(results []result, limits map[string]*limit) []result {
	judged := make([]result, len(results))
	for i, r := range results {
		r.Limit = limits[r.Name]
		judged[i] = r
	}
	return judged
}
