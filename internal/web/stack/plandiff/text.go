// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plandiff

import (
	"slices"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// maxPlanText limits a plan as text, in bytes, and maxTextChanges its resources.
const maxPlanText, maxTextChanges = 1 << 20, 500

// Text is the beginning of a plan as text, and whether there is more.
func Text(shown *plan.Outline) (text string, cut bool, err error) {
	p := *shown.Plan
	if cut = len(p.Changes) > maxTextChanges; cut {
		p.Changes = p.Changes[:maxTextChanges]
	}
	p.Changes = slices.Clone(p.Changes)
	for i := range p.Changes {
		if p.Changes[i], err = shown.Change(i); err != nil {
			return "", false, err
		}
	}
	p.Drift = slices.Clone(p.Drift[:min(len(p.Drift), maxTextChanges)])
	for i := range p.Drift {
		if p.Drift[i], err = shown.Drifted(i); err != nil {
			return "", false, err
		}
	}
	text = plan.Render(&p, plan.RenderOptions{})
	return shorten.CutBytes(text, maxPlanText), cut || len(text) > maxPlanText, nil
}
