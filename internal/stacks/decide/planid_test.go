// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBasePlanID(t *testing.T) {
	for sentence, c := range map[string]struct{ revision, want string }{
		"a branch and a commit": {
			"main@sha1:b8e362c206e3d0cbb7ed22ced771a0056455a2fb", "plan-main-b8e362c206",
		},
		"a tag and an image digest": {
			"v4.38.0-v1alpha11@sha256:6033f3b9fb4e2c2f0ba5a8bd3d6dd4ba3a0e3d0b",
			"plan-v4.38.0-v1alpha11-6033f3b9fb",
		},
		"a branch with slashes": {
			"feature/vpc/two@sha1:b8e362c206e3d0cb", "plan-feature/vpc/two-b8e362c206",
		},
		"a reference by name": {
			"refs/heads/main@sha1:b8e362c206e3d0cb", "plan-refs/heads/main-b8e362c206",
		},
		"a hash of ten digits":                     {"main@sha1:1234567890", "plan-main-1234567890"},
		"a hash of nine digits":                    {"main@sha1:123456789", "plan-main-123456789"},
		"a hash without its algorithm":             {"main@b8e362c206e3d0cb", "plan-main-b8e362c206"},
		"the old form":                             {"master/b8e362c206e3d0cbb7ed22ced771a0056455a2fb", "plan-master-b8e362c206"},
		"the old form with a short hash":           {"main/abc", "plan-main-abc"},
		"a bare hash, as of a bucket":              {"822c3dd335a5b9b7c7ed7a", "plan-822c3dd335"},
		"a bare short hash":                        {"822c3dd", "plan-822c3dd"},
		"a bare hash with its algorithm":           {"sha256:822c3dd335a5b9b7c7ed7a", "plan-822c3dd335"},
		"a hash after an empty name":               {"@sha1:b8e362c206e3d0cb", "plan--b8e362c206"},
		"more than one at sign is not a branch":    {"a@b@sha1:b8e3", "plan-b8e3"},
		"more than one slash is not the old form":  {"refs/heads/main", "plan-refs/heads"},
		"no revision, as of a program in the spec": {"", "plan-"},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, BasePlanID(c.revision)); diff != "" {
				t.Errorf("id of %q (-want +got):\n%s", c.revision, diff)
			}
		})
	}
}

func TestNamePlan(t *testing.T) {
	const (
		main   = "main@sha1:1a2b3c4d5e6f"
		later  = "main@sha1:ffffffffffff"
		mainID = "plan-main-1a2b3c4d5e"
	)
	named := func(base string, sequence int, id, changes string) PlanHistory {
		return PlanHistory{Base: base, Sequence: sequence, PendingID: id, PendingChanges: changes}
	}
	for sentence, c := range map[string]struct {
		history           PlanHistory
		revision, changes string
		want              PlanHistory
	}{
		"the first plan of a stack has its revision's id": {
			PlanHistory{}, main, "create", named(mainID, 1, mainID, "create"),
		},
		"the second plan with other changes is numbered": {
			named(mainID, 1, mainID, "create"), main, "destroy", named(mainID, 2, mainID+"-2", "destroy"),
		},
		"the third plan with other changes is numbered, too": {
			named(mainID, 2, mainID+"-2", "destroy"), main, "create", named(mainID, 3, mainID+"-3", "create"),
		},
		"equal changes keep the pending plan's id": {
			named(mainID, 2, mainID+"-2", "destroy"), main, "destroy", named(mainID, 2, mainID+"-2", "destroy"),
		},
		"equal changes keep the pending plan's id in a new revision": {
			named(mainID, 1, mainID, "create"), later, "create", named(mainID, 1, mainID, "create"),
		},
		"other changes after that get the new revision's id": {
			named(mainID, 1, mainID, "create"), later, "destroy",
			named("plan-main-ffffffffff", 1, "plan-main-ffffffffff", "destroy"),
		},
		"unknown changes are never equal": {
			named(mainID, 1, mainID, ""), main, "", named(mainID, 2, mainID+"-2", ""),
		},
		"the id of a plan that is no longer pending is not kept, whatever the changes": {
			named(mainID, 1, "", ""), main, "create", named(mainID, 2, mainID+"-2", "create"),
		},
		"changes without a pending plan are not compared": {
			named(mainID, 1, "", "create"), main, "create", named(mainID, 2, mainID+"-2", "create"),
		},
		"a new revision starts without a number": {
			named(mainID, 5, mainID+"-5", "create"), later, "destroy",
			named("plan-main-ffffffffff", 1, "plan-main-ffffffffff", "destroy"),
		},
		"an older revision that returns does not reuse an id that approvePlan may still name": {
			PlanHistory{Base: "plan-main-ffffffffff", Sequence: 1, Applied: mainID}, main, "create",
			PlanHistory{Base: mainID, Sequence: 2, Applied: mainID, PendingID: mainID + "-2", PendingChanges: "create"},
		},
		"a numbered id is not reused, either": {
			PlanHistory{Base: mainID, Sequence: 1, Applied: mainID + "-2"}, main, "create",
			PlanHistory{Base: mainID, Sequence: 3, Applied: mainID + "-2", PendingID: mainID + "-3", PendingChanges: "create"},
		},
		"a new plan, which nobody has seen, never gets the id that approvePlan names": {
			PlanHistory{Base: "plan-main-ffffffffff", Sequence: 1, Named: mainID}, main, "create",
			PlanHistory{Base: mainID, Sequence: 2, PendingID: mainID + "-2", PendingChanges: "create"},
		},
		"the plan applied last stays known when an id carries over": {
			PlanHistory{Base: mainID, Sequence: 1, Applied: "plan-old", PendingID: mainID, PendingChanges: "create"}, later, "create",
			PlanHistory{Base: mainID, Sequence: 1, Applied: "plan-old", PendingID: mainID, PendingChanges: "create"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			id, next := NamePlan(c.history, c.revision, c.changes)
			if diff := cmp.Diff(c.want, next); diff != "" {
				t.Errorf("history (-want +got):\n%s", diff)
			}
			if id != c.want.PendingID {
				t.Errorf("id = %q, want %q", id, c.want.PendingID)
			}
		})
	}
}
