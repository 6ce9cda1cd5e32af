// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stack

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
)

func TestOnlyThePlanThatWasSeenIsApproved(t *testing.T) {
	for sentence, c := range map[string]struct {
		form  []string
		waits string
		code  int
		says  string
		plan  string
	}{
		"the plan":                      {[]string{"plan", "plan-main-1", "digest", digest}, "plan-main-1", http.StatusOK, "is approved and will be applied", "plan-main-1"},
		"another plan is pending":       {[]string{"plan", "plan-main-1", "digest", digest}, "plan-main-1-2", http.StatusConflict, "You saw plan-main-1, and now plan-main-1-2 is pending", ""},
		"the same plan has other bytes": {[]string{"plan", "plan-main-1", "digest", "sha256:bb"}, "plan-main-1", http.StatusConflict, "has other bytes than those that you saw", ""},
		"no plan is pending":            {[]string{"plan", "plan-main-1", "digest", digest}, "", http.StatusConflict, "no plan waits for approval.", ""},
		"the form is empty":             {nil, "plan-main-1", http.StatusBadRequest, "the form does not name the plan of", ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			w := newWorld(t)
			w.waits(c.waits)
			code, said := w.does("root", "approve", c.form...)
			if got := w.now().Spec.ApprovePlan; code != c.code || !strings.Contains(said, c.says) || got != c.plan {
				t.Errorf("%d %q, approved %q", code, said, got)
			}
		})
	}
}

func TestTwoPeopleWhoApproveAtOnceApproveOnePlan(t *testing.T) {
	w := newWorld(t)
	w.waits("plan-main-1")
	var both sync.WaitGroup
	var done atomic.Int32
	for range 2 {
		both.Go(func() {
			code, said := w.does("root", "approve", "plan", "plan-main-1", "digest", digest)
			switch {
			case code == http.StatusOK:
				done.Add(1)
			case code != http.StatusConflict || !strings.Contains(said, "root has approved it"):
				t.Errorf("%d %s", code, said)
			}
		})
	}
	both.Wait()
	if done.Load() != 1 {
		t.Errorf("%d of two approved", done.Load())
	}
	if got := w.now().Spec.ApprovePlan; got != "plan-main-1" {
		t.Error(got)
	}
}

func TestActions(t *testing.T) {
	w := newWorld(t)
	w.waits("plan-main-1")
	do := func(want int, says, verb string, form ...string) *infrav1.Terraform {
		t.Helper()
		code, said := w.does("root", verb, form...)
		if code != want || !strings.Contains(said, says) {
			t.Errorf("%s: %d %q", verb, code, said)
		}
		return w.now()
	}
	if got := do(http.StatusOK, "is rejected", "reject", "plan", "plan-main-1", "digest", digest); got.Annotations[infrav1.AnnotationRejected] != "plan-main-1" {
		t.Error("it is not rejected")
	}
	if got := do(http.StatusOK, "fresh plan", "replan"); got.Annotations[infrav1.AnnotationRejected] != "" || got.ReconcileRequest() == "" {
		t.Error("no fresh plan is requested")
	}
	if !do(http.StatusOK, "is suspended", "suspend").Spec.Suspend || do(http.StatusOK, "is resumed", "resume").Spec.Suspend {
		t.Error("suspend or resume did nothing")
	}
	do(http.StatusConflict, "no resource is unproven", "acknowledge", "run", "r1")
	w.status(func(s *infrav1.TerraformStatus) {
		s.Unproven = &infrav1.UnprovenStatus{Runs: []infrav1.UnprovenRun{{ID: "r1"}}, Resources: []infrav1.UnprovenResource{{Address: "a.b", Run: "r1", Doubt: hostile}}}
	})
	w.sees("root", "", "Unproven resources", "a.b", "Acknowledge the unproven resources")
	if got := do(http.StatusOK, "are acknowledged", "acknowledge", "run", "r1"); got.Annotations[infrav1.AnnotationAcknowledged] != "r1" {
		t.Error("it is not acknowledged")
	}
	do(http.StatusConflict, "is neither waiting nor running", "cancel", "run", "20260102-150405.000-dddddddddd")
	do(http.StatusNotFound, "is not locked", "unlock", "lock", "x")
	do(http.StatusBadRequest, "type the name of the stack", "destroy", "typed", "other")
	now := w.now()
	old := []string{"typed", "vpc", "uid", string(now.UID), "generation", fmt.Sprint(now.Generation - 1)}
	do(http.StatusConflict, "somebody has changed the stack", "destroy", old...)
	right := []string{"typed", "vpc", "uid", string(now.UID), "generation", fmt.Sprint(now.Generation)}
	if got := do(http.StatusOK, "is being planned", "destroy", right...); !got.Spec.Destroy {
		t.Error("nothing is destroyed")
	}
	do(http.StatusConflict, "another stack of the same name", "delete", "typed", "vpc", "uid", "other")
	right[5] = fmt.Sprint(w.now().Generation)
	if code, said := w.does("root", "delete", right...); code != http.StatusOK || !strings.Contains(said, "is being deleted") {
		t.Errorf("%d %s", code, said)
	}
	err := apitest.Client(t).Get(t.Context(), types.NamespacedName{Namespace: w.stack.Namespace, Name: "vpc"}, &infrav1.Terraform{})
	if !apierrors.IsNotFound(err) {
		t.Errorf("the stack is still there: %v", err)
	}
	if code, said := w.does("root", "replan"); code != http.StatusNotFound || !strings.Contains(said, "there is no stack") {
		t.Errorf("%d %s", code, said)
	}
}

func TestACancelledRunIsTheOneThatWasSeen(t *testing.T) {
	w := newWorld(t)
	const id = "20260102-150405.000-eeeeeeeeee"
	w.begin(id)
	w.status(func(s *infrav1.TerraformStatus) {
		s.CurrentRun = &infrav1.RunReference{ID: id, Operation: "plan", Status: "queued"}
	})
	w.sees("root", "/runs/"+id, "Cancel the run")
	if code, said := w.does("root", "cancel", "run", "20260102-150405.000-ffffffffff"); code != http.StatusConflict {
		t.Errorf("%d %s", code, said)
	}
	if code, said := w.does("root", "cancel", "run", id); code != http.StatusOK {
		t.Errorf("%d %s", code, said)
	}
}
