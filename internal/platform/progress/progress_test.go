// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package progress_test

import (
	"testing"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/platform/progress"
)

// A message without another state is an event if it says something new to whoever waits.
func TestMessagesThatAreEvents(t *testing.T) {
	for name, test := range map[string]struct {
		state    yubav1.PlatformPhaseState
		waitsFor []string
		want     int
	}{
		"it waits for other phases, as before": {yubav1.PhaseWaiting, []string{"eu/network"}, 0},
		"it waits for something else":          {yubav1.PhaseWaiting, nil, 1},
		"it fails for another reason":          {yubav1.PhaseFailed, nil, 1},
		"another one has it":                   {yubav1.PhaseAway, nil, 1},
		"it is ready, as before":               {yubav1.PhaseReady, nil, 0},
	} {
		status := func(message string, waitsFor []string) *yubav1.PlatformStatus {
			return &yubav1.PlatformStatus{Phases: []yubav1.PlatformPhaseStatus{{Name: "eu/kubernetes", State: test.state, Message: message, WaitsFor: waitsFor}}}
		}
		before, after := status("before", []string{"eu/machines"}), status("after", test.waitsFor)
		if got := progress.Between(before, after, time.Time{}); len(got) != test.want {
			t.Errorf("%s: %+v", name, got)
		}
		if got := progress.Between(after, after, time.Time{}); len(got) != 0 {
			t.Errorf("%s: nothing has changed, but %+v", name, got)
		}
	}
}
