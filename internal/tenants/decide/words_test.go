// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"
	"time"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
)

var now = time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC)

func ago(d time.Duration) time.Time { return now.Add(-d) }

// Package decide must not import the kinds, so it repeats their words.
func TestTheWordsAreThoseOfTheKinds(t *testing.T) {
	for _, c := range []struct{ here, there string }{
		{ReasonReconciled, tenantv1.ReasonReconciled},
		{ReasonNotAllResourcesReady, tenantv1.ReasonNotAllResourcesReady},
		{ReasonResourcesFailed, tenantv1.ReasonResourcesFailed},
		{ReasonResourcesConflicted, tenantv1.ReasonResourcesConflicted},
		{ReasonResourcesFailedAndConflicted, tenantv1.ReasonResourcesFailedAndConflicted},
		{ReasonRegistryGone, tenantv1.ReasonRegistryGone},
		{ReasonReconciling, tenantv1.ReasonReconciling},
		{ReasonReconcileComplete, tenantv1.ReasonReconcileComplete},
		{ReasonResourceConflict, tenantv1.ReasonResourceConflict},
		{ReasonNoConflict, tenantv1.ReasonNoConflict},
		{ReasonHealthy, tenantv1.ReasonHealthy},
		{ReasonResourceFailures, tenantv1.ReasonResourceFailures},
		{ReasonResourceConflicts, tenantv1.ReasonResourceConflicts},
		{ReasonResourceFailuresAndConflicts, tenantv1.ReasonResourceFailuresAndConflicts},
		{PhaseIdle, string(tenantv1.RolloutIdle)},
		{PhaseInProgress, string(tenantv1.RolloutInProgress)},
		{PhaseFailed, string(tenantv1.RolloutFailed)},
		{PhaseComplete, string(tenantv1.RolloutComplete)},
	} {
		if c.here != c.there {
			t.Errorf("%q is %q in the kinds", c.here, c.there)
		}
	}
}

func TestLists(t *testing.T) {
	for want, names := range map[string][]string{
		"":                         nil,
		"a":                        {"a"},
		"a, b, c, d, e":            {"a", "b", "c", "d", "e"},
		"a, b, c, d, e and 1 more": {"a", "b", "c", "d", "e", "f"},
	} {
		if got := List(names); got != want {
			t.Errorf("%v is %q, want %q", names, got, want)
		}
	}
}
