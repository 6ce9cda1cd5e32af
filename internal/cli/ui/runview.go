// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"fmt"
	"io"
	"strings"

	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// RunView shows the log of a run to people.
type RunView struct {
	Writer io.Writer
	Color  bool
	// HidePlan omits planned changes; the plan is shown separately.
	HidePlan bool
	// Errors counts the errors that were shown.
	Errors int
	// said are the shown diagnostics; tofu repeats some of them.
	said map[string]bool
}

// Line shows one line of the log.
func (v *RunView) Line(line []byte) error {
	event := plan.ParseEvent(line)
	switch event.Type {
	case plan.PlannedChange, plan.ResourceDrift, plan.ChangeSummary:
		if v.HidePlan {
			return nil
		}
	case plan.Version:
		return nil
	case plan.Outputs:
		return nil // the waiting command shows them
	case plan.Diagnostic:
		if event.Diagnostic != nil && event.Diagnostic.Severity == diagnostic.Error {
			v.Errors++
		}
	}
	if event.Type == plan.Note && event.Level == "info" && !strings.HasPrefix(event.Message, "- ") {
		return nil // of init, show only what it downloads
	}
	text := event.Render(v.Color)
	if text == "" || event.Type == plan.Diagnostic && v.said[text] {
		return nil
	}
	if event.Type == plan.Diagnostic {
		if v.said == nil {
			v.said = map[string]bool{}
		}
		v.said[text] = true
	}
	_, err := fmt.Fprintln(v.Writer, text)
	return err
}
