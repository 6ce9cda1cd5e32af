// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"testing"

	"github.com/yuba-dev/yuba/internal/diagnostic"
	"github.com/yuba-dev/yuba/internal/plan"
	"github.com/yuba-dev/yuba/internal/run"
)

func TestWhatKindOfFailureItIs(t *testing.T) {
	const held = "resource temporarily unavailable\nLock Info:\n  ID:        498a5e6e\n  Path:      terraform.tfstate\n"
	for name, c := range map[string]struct {
		err  diagnostic.Diagnostic
		want run.Failure
	}{
		"a lock that somebody holds":        {diagnostic.Diagnostic{Summary: lockSummary, Detail: held}, run.FailureLocked},
		"a lock that cannot be written":     {diagnostic.Diagnostic{Summary: lockSummary, Detail: "open /states/lock: permission denied"}, ""},
		"a lock in a file of the program's": {diagnostic.Diagnostic{Summary: lockSummary, Detail: "permission denied", File: "main.tf"}, ""},
		"a plan for another state":          {diagnostic.Diagnostic{Summary: staleSummary}, run.FailureStalePlan},
		"an error of the language":          {diagnostic.Diagnostic{Summary: "Unsupported argument", File: "main.tf"}, run.FailureConfiguration},
		"an error of a provider":            {diagnostic.Diagnostic{Summary: "no quota", File: "main.tf", Address: "a.b"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c.err.Severity = diagnostic.Error
			if got := classify(&plan.Stream{Diagnostics: diagnostic.List{c.err}}); got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
