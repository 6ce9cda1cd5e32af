// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"context"
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// retreating has the id of a refactoring that looks as if another request was applying it, which then gives up.
var retreating atomic.Value

// glimpse shows it so. Only [reshape.Desk.Apply] sees its phase while no other request can change it.
type glimpse struct{ *reshape.Desk }

func (g glimpse) Get(ctx context.Context, namespace, id string) (*reshape.Record, error) {
	r, err := g.Desk.Get(ctx, namespace, id)
	if err == nil && retreating.Load() == id {
		r.Phase = reshape.Locking
	}
	return r, err
}

// TestARefactoringOfAStackThatHasAnotherProgramNow: a commit, or a change of the stack, between the preview
// and the confirmation makes the preview worthless.
func TestARefactoringOfAStackThatHasAnotherProgramNow(t *testing.T) {
	s := newSite(t)
	c := s.as("")
	data := fmt.Append(nil, `{"version":4,"terraform_version":"1.12.0","serial":1,"lineage":"l","outputs":{},"resources":[`,
		`{"mode":"managed","type":"x","name":"one","provider":"provider[\"registry.opentofu.org/acme/x\"]","instances":[{"schema_version":0,"attributes":{"id":"1"}}]}]}`)
	if _, err := s.states.Write(t.Context(), s.key(), state.WriteRequest{Data: data, RunID: "r"}); err != nil {
		t.Fatal(err)
	}
	propose := func() reshape.Record {
		t.Helper()
		r, err := c.ProposeRefactoring(t.Context(), s.namespace, content.Refactoring{Steps: []moves.Step{{Verb: moves.Move, State: "vpc", From: "x.one", To: "x.two"}}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	refused := func(r reshape.Record) {
		t.Helper()
		_, err := c.ApplyRefactoring(t.Context(), s.namespace, r.ID, content.Acceptance{Unpreviewed: true})
		checkStatus(t, err, http.StatusConflict, "has changed since the preview, so its plan says nothing")
	}
	r := propose()
	if err := apitest.Client(t).Get(t.Context(), client.ObjectKeyFromObject(s.stack), s.stack); err != nil {
		t.Fatal(err)
	}
	s.stack.Status.LastAttemptedRevision = "main@sha1:new"
	if err := apitest.Client(t).Status().Update(t.Context(), s.stack); err != nil {
		t.Fatal(err)
	}
	refused(r)
	r = propose()
	s.stack.Spec.Interval.Duration = 2 * time.Hour
	if err := apitest.Client(t).Update(t.Context(), s.stack); err != nil {
		t.Fatal(err)
	}
	refused(r)
	r = propose()
	for _, id := range []string{"", r.ID} {
		retreating.Store(id)
		_, err := c.ApplyRefactoring(t.Context(), s.namespace, r.ID, content.Acceptance{})
		checkStatus(t, err, http.StatusConflict, "was not previewed")
	}
	retreating.Store("")
	// Without a preview, the next run of a stack that can run would undo the moves.
	_, err := c.ApplyRefactoring(t.Context(), s.namespace, r.ID, content.Acceptance{Unpreviewed: true})
	checkStatus(t, err, http.StatusConflict, "Suspend the stacks")
	s.stack.Spec.Suspend = true
	if err := apitest.Client(t).Update(t.Context(), s.stack); err != nil {
		t.Fatal(err)
	}
	r = propose()
	done, err := c.ApplyRefactoring(t.Context(), s.namespace, r.ID, content.Acceptance{Unpreviewed: true})
	if err != nil || done.Phase != reshape.Applied || !done.Unpreviewed {
		t.Errorf("%+v, %v", done, err)
	}
}
