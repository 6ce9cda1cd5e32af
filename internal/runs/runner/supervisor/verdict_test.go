// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package supervisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
	"github.com/yuba-dev/yuba/internal/tofu/summary"
)

func TestWhatKindOfFailureItIs(t *testing.T) {
	const held = "resource temporarily unavailable\nLock Info:\n  ID:        498a5e6e\n  Path:      terraform.tfstate\n"
	for name, c := range map[string]struct {
		err  diagnostic.Diagnostic
		want run.Failure
	}{
		"a lock that somebody holds":        {diagnostic.Diagnostic{Summary: summary.Lock, Detail: held}, run.FailureLocked},
		"a lock that cannot be written":     {diagnostic.Diagnostic{Summary: summary.Lock, Detail: "open /states/lock: permission denied"}, ""},
		"a lock in a file of the program's": {diagnostic.Diagnostic{Summary: summary.Lock, Detail: "permission denied", File: "main.tf"}, ""},
		"a lock in the way of init":         {diagnostic.Diagnostic{Summary: "Error loading state", Detail: "the state is already locked by another tofu client\nLock Info:\n  ID:        498a5e6e\n"}, run.FailureLocked},
		"a provider that quotes a lock":     {diagnostic.Diagnostic{Summary: "busy", Detail: held, File: "main.tf", Address: "a.b"}, ""},
		"a plan for another state":          {diagnostic.Diagnostic{Summary: summary.StalePlan}, run.FailureStalePlan},
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

// Commands without -json print a lock as text.
func TestALockInPlainTextIsFound(t *testing.T) {
	lines := []string{"Error: Failed to load state: the state is already locked by another tofu client", "Lock Info:", "  ID:        498a5e6e", "  Who:       ci@build7"}
	if got := lockIn(&plan.Stream{Raw: lines}); got == nil || got.ID != "498a5e6e" || got.Who != "ci@build7" {
		t.Errorf("%+v", got)
	}
	if got := lockIn(&plan.Stream{Raw: []string{"Lock Info:", "nothing"}}); got != nil {
		t.Errorf("%+v", got)
	}
}

// The backends cloud and remote describe the attempt that failed as if it held the lock.
func TestALockOfAWorkspaceIsNotThatOfTheAttempt(t *testing.T) {
	detail := "Error message: workspace already locked (lock ID: \"acme/net\")\nLock Info:\n  ID:        548d406e\n  Operation: OperationTypePlan\n  Who:       runner@vm\n"
	got := lockIn(&plan.Stream{Diagnostics: diagnostic.List{{Severity: diagnostic.Error, Summary: summary.Lock, Detail: detail}}})
	if diff := cmp.Diff(&run.Lock{ID: "acme/net"}, got); diff != "" {
		t.Error(diff)
	}
}

// The end of a crash is a stack trace. People need the cause above it.
func TestTheCauseOfACrashIsTold(t *testing.T) {
	many := strings.Repeat("a line\n", 20)
	for sentence, test := range map[string]struct{ raw, want string }{
		"tofu's own words for a crash": {"!!! OPENTOFU CRASH !!!\n\nPlease report it.\n\n!!! OPENTOFU CRASH !!!\n\ncannot serialize infinity\n\ngoroutine 1 [running]:\nmain.main()\n" + many,
			"cannot serialize infinity"},
		"a panic of Go":          {many + "panic: runtime error: index out of range\n\n[signal SIGSEGV]\n\ngoroutine 7 [running]:\n" + many, "a line\npanic: runtime error: index out of range\n[signal SIGSEGV]"},
		"an end without a crash": {many + "the end", strings.Repeat("a line\n", 9) + "the end"},
		"no words at all":        {"", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			if got := strings.Join(lastWords(strings.Split(test.raw, "\n")), "\n"); got != test.want {
				t.Errorf("got  %q\nwant %q", got, test.want)
			}
		})
	}
}
