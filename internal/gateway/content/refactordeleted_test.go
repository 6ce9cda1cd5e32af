// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content_test

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/testkit/apitest"
	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/state/reshape"
)

// TestARefactoringWithAStackThatIsBeingDeleted: the deletion destroys what the stack has, without an approval. So
// nothing moves into it, neither by a proposal nor by an undo; what moves out is saved.
func TestARefactoringWithAStackThatIsBeingDeleted(t *testing.T) {
	s := newSite(t, func(obj *infrav1.Terraform) { obj.Spec.Suspend = true })
	c, api := s.as(""), apitest.Client(t)
	dying := &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "dying", Finalizers: []string{infrav1.Finalizer}},
		Spec: infrav1.TerraformSpec{Suspend: true, DestroyResourcesOnDeletion: true, Interval: metav1.Duration{Duration: time.Hour}, Inline: map[string]string{"main.tf": ""}}}
	if err := api.Create(t.Context(), dying); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = api.Patch(context.WithoutCancel(t.Context()), dying, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
	for _, obj := range []*infrav1.Terraform{s.stack, dying} {
		var list string
		for i, name := range []string{"one", "two"} {
			if i > 0 {
				list += ","
			}
			list += fmt.Sprintf(`{"mode":"managed","type":"x","name":"%s_%s","provider":"provider[\"registry.opentofu.org/acme/x\"]","instances":[{"schema_version":0,"attributes":{"id":"1"}}]}`, obj.Name, name)
		}
		data := fmt.Appendf(nil, `{"version":4,"terraform_version":"1.12.0","serial":1,"lineage":%q,"outputs":{},"resources":[%s]}`, obj.Name, list)
		if _, err := s.states.Write(t.Context(), state.Key{Namespace: s.namespace, Suffix: obj.Name, Stack: obj.Name, UID: string(obj.UID)}, state.WriteRequest{Data: data, RunID: "r"}); err != nil {
			t.Fatal(err)
		}
	}
	propose := func(steps ...moves.Step) (reshape.Record, error) {
		return c.ProposeRefactoring(t.Context(), s.namespace, content.Refactoring{Steps: steps})
	}
	apply := func(r reshape.Record) error {
		_, err := c.ApplyRefactoring(t.Context(), s.namespace, r.ID, content.Acceptance{Unpreviewed: true})
		return err
	}
	must := func(r reshape.Record, err error) reshape.Record {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	in := moves.Step{Verb: moves.Move, State: "vpc", From: "x.vpc_one", ToState: "dying", To: "x.vpc_one"}
	removal := must(propose(moves.Step{Verb: moves.Remove, State: "dying", From: "x.dying_two"}))
	if err := apply(removal); err != nil {
		t.Fatal(err)
	}
	undo := must(c.ProposeRefactoring(t.Context(), s.namespace, content.Refactoring{Undo: removal.ID}))
	early := must(propose(in))
	if err := api.Delete(t.Context(), dying); err != nil {
		t.Fatal(err)
	}
	const want = "it is being deleted, and would destroy what is moved there"
	_, err := propose(in)
	checkStatus(t, err, http.StatusConflict, want)
	_, err = c.ProposeRefactoring(t.Context(), s.namespace, content.Refactoring{Undo: removal.ID})
	checkStatus(t, err, http.StatusConflict, want)
	checkStatus(t, apply(early), http.StatusConflict, want)
	checkStatus(t, apply(undo), http.StatusConflict, want)
	if err := apply(must(propose(moves.Step{Verb: moves.Move, State: "dying", From: "x.dying_one", ToState: "vpc", To: "x.saved"}))); err != nil {
		t.Errorf("out of it: %v", err)
	}
}
