// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"testing"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// A command gives up after its own attempts, not after those of an earlier one.
func TestFailuresOfEarlierCommandsDoNotCount(t *testing.T) {
	f := &follower{flags: followFlags{attempts: 3}}
	for i, c := range []struct {
		failures int64
		over     bool
	}{{5, false}, {6, false}, {7, false}, {8, true}, {0, false}, {1, false}, {3, true}} {
		f.last.Status.Phases = []yubav1.PlatformPhaseStatus{{Name: "eu/network", State: yubav1.PhaseFailed, Failures: c.failures}}
		f.count()
		if over := f.hopeless() != nil; over != c.over {
			t.Errorf("%d: after %d failures the command ends: %v", i, c.failures, over)
		}
	}
}
