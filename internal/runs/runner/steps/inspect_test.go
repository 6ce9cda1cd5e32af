// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"syscall"
	"testing"

	"github.com/yuba-dev/yuba/internal/runs/runner/process"
)

// TestFailedByItself: the output of a tool that was stopped does not say why it failed, and would hide the reason.
func TestFailedByItself(t *testing.T) {
	for sentence, test := range map[string]struct {
		exit process.Exit
		want bool
	}{
		"an expression is wrong":         {process.Exit{Known: true, Code: 1}, true},
		"nothing failed":                 {process.Exit{Known: true}, false},
		"it crashed":                     {process.Exit{Known: true, Code: 2}, false},
		"it took too long":               {process.Exit{Known: true, Code: 1, TimedOut: true, Interrupted: "it took longer than 1m0s"}, false},
		"somebody canceled it":           {process.Exit{Known: true, Code: 1, Interrupted: "canceled by jo"}, false},
		"it used too much memory":        {process.Exit{Known: true, Code: 1, Exceeded: "it used more than 1 GiB"}, false},
		"it was killed":                  {process.Exit{Known: true, Code: 1, Signal: syscall.SIGKILL}, false},
		"another program has its output": {process.Exit{Known: true, Code: 1, Held: true}, false},
	} {
		if got := failedByItself(test.exit); got != test.want {
			t.Errorf("%s: %v, want %v", sentence, got, test.want)
		}
	}
}
