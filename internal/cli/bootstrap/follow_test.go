// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"errors"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
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

// Another owner never gives a phase back by itself: whoever waited would wait for ever.
func TestNobodyWaitsForAnotherOwner(t *testing.T) {
	for _, reason := range []string{yubav1.ReasonPlatformMoved, yubav1.ReasonPlatformAway} {
		f := &follower{}
		conditions.Set(&f.last, infrav1.ConditionReady, metav1.ConditionFalse, reason, "prod has it")
		err := f.result()
		var coded *ui.CodedError
		if !f.over() || !errors.As(err, &coded) || coded.Code != ui.ExitRefused || err.Error() != "prod has it" {
			t.Errorf("%s: over %v, %v", reason, f.over(), err)
		}
	}
}

func TestPhasesOfOthersHaveASign(t *testing.T) {
	p := &yubav1.Platform{}
	p.Status.Phases = []yubav1.PlatformPhaseStatus{{Name: "eu/network", State: yubav1.PhaseAway, Message: "Moved to prod by yuba move"}}
	if text := lines(p, time.Now())[1].text; !strings.Contains(text, "→ eu/network") || !strings.HasSuffix(text, "Moved to prod by yuba move") {
		t.Errorf("%q", text)
	}
}
