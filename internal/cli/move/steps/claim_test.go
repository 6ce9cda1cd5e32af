// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"errors"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
)

func TestClaimEndsWithoutRenewals(t *testing.T) {
	for sentence, c := range map[string]struct {
		ago  time.Duration
		lost bool
		want error
	}{
		"a renewed claim holds":                         {0, false, nil},
		"one that missed a renewal holds":               {claimRenewal + time.Second, false, nil},
		"one that others may take soon does not":        {claimPatience + time.Second, false, errClaimLost},
		"one that somebody has taken does not, at once": {0, true, errClaimLost},
	} {
		t.Run(sentence, func(t *testing.T) {
			got := (&claim{renewed: wallClock().Add(-c.ago), lost: c.lost}).check()
			if !errors.Is(got, c.want) {
				t.Errorf("%v, want %v", got, c.want)
			}
		})
	}
	if claimPatience >= claimDuration {
		t.Error("a holder writes when others may have taken its Lease")
	}
}

func TestALostClaimIsNotAnInterruption(t *testing.T) {
	m := &Mover{claimed: &claim{lost: true}}
	if got := m.explain(context.Canceled); !errors.Is(got, errClaimLost) || errors.Is(got, context.Canceled) {
		t.Errorf("a lost claim: %v", got)
	}
	m.claimed = &claim{renewed: wallClock()}
	if got := m.explain(context.Canceled); !errors.Is(got, context.Canceled) {
		t.Errorf("an interruption: %v", got)
	}
}

func TestHostOf(t *testing.T) {
	if got := hostOf(claimOf("team", "build_7_20260102-150405-00ff")); got != "build_7" {
		t.Errorf("host %q", got)
	}
}

func TestStacksThatAnEarlierAttemptResumedAreReported(t *testing.T) {
	named := func(name string) *unstructured.Unstructured {
		o := &unstructured.Unstructured{Object: map[string]any{}}
		o.SetName(name)
		return o
	}
	source := named("vpc")
	s := &space{name: "team", to: &record{Move: "m1", Objects: map[string]entry{"Terraform/vpc": {Move: "m1"}, "Terraform/old": {Move: "m0"}}},
		pairs: []*pair{{kind: shape.Stacks, source: source, item: decide.Item{Kind: "Terraform", Namespace: "team", Name: "vpc"}}}}
	m := &Mover{id: "m1"}
	if r, ok := m.resumedEarlier(s, shape.Stacks, "v1alpha2", named("vpc")); !ok || r.before != source || r.suspended {
		t.Errorf("%+v %v", r, ok)
	}
	for _, name := range []string{"old", "other"} {
		if _, ok := m.resumedEarlier(s, shape.Stacks, "v1alpha2", named(name)); ok {
			t.Errorf("%s is not of this move", name)
		}
	}
}
