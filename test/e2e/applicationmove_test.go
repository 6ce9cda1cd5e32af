// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package e2e

import (
	"testing"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
)

// A move takes the stack of an instance to another home. The instance that stays does not start it again,
// an instance at the target takes it over without a run, and each stack is destroyed once.
func TestTheStackOfAnInstanceMoves(t *testing.T) {
	t.Parallel()
	from, to := alone(t), alone(t)
	ns := from.namespace(t)
	for _, y := range []*yuba{from, to} {
		y.offer(t, "Parcel", planDefinition)
	}
	left := from.use(t, ns, "Parcel", "one", map[string]any{}, nil)
	from.reaches(t, ns, "Parcel", "one", appv1.PhaseReady, "")
	from.do(t, "move", "--from", from.dir, "--to", to.dir, "-n", ns, "--yes")
	from.reaches(t, ns, "Parcel", "one", appv1.PhasePending, "Moved to")

	arrived := to.stackOf(t, ns, "parcel-one")
	o := to.use(t, ns, "Parcel", "one", map[string]any{}, nil)
	to.reaches(t, ns, "Parcel", "one", appv1.PhaseReady, "")
	now := to.stackOf(t, ns, "parcel-one")
	if now.UID != arrived.UID || len(now.OwnerReferences) != 1 || now.OwnerReferences[0].UID != o.GetUID() {
		t.Errorf("the stack is %+v", now.ObjectMeta)
	}
	if was, is := arrived.Status.LastRun, now.Status.LastRun; was == nil || is == nil || was.ID != is.ID {
		t.Errorf("the last run was %v, and is %v", was, is)
	}
	from.delete(t, left)
	from.leaves(t, ns, "Parcel", "one")
	if n := to.resources(t, now); n != 1 {
		t.Errorf("%d resources are in the state, want 1", n)
	}
	to.delete(t, o)
	to.leaves(t, ns, "Parcel", "one")
	if n := to.resources(t, now); n != 0 {
		t.Errorf("%d resources are left", n)
	}
}
