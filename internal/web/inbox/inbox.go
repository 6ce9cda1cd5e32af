// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package inbox shows everything that needs a person: plans that wait, and what is broken.
package inbox

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/"

// Add adds the section's pages and actions.
func Add(s *site.Site, watched client.Reader) {
	s.AddViews(views)
	p := pages{watched}
	s.Page("/{$}", p.show)
	s.Action("/stacks/{namespace}/{name}/approve", p.approve)
}

type pages struct{ watched client.Reader }

// entry is one thing that waits for a person.
type entry struct {
	Namespace, Name, Address string
	State                    standing.State
	Sentence                 string
	Plan, Summary            string
	Since                    any
	Approve                  *site.Button
}

func (p pages) show(r *site.Request) (*site.Page, error) {
	scope, err := r.Scope(infrav1.GroupVersion.Group, "terraforms")
	if err != nil {
		return nil, err
	}
	var all infrav1.TerraformList
	if err := p.watched.List(r.Context(), &all, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("list stacks: %w", err)
	}
	var entries []entry
	for i := range all.Items {
		t := &all.Items[i]
		state := standing.Of(t)
		if !scope.Has(t.Namespace) || state.Rank() > standing.Drift.Rank() {
			continue
		}
		e := entry{Namespace: t.Namespace, Name: t.Name, Address: site.Path("stacks", t.Namespace, t.Name), State: state, Sentence: standing.Sentence(t),
			Plan: t.Status.Plan.Pending, Summary: t.Status.Plan.Summary, Since: standing.Since(t)}
		if state == standing.Pending {
			b := r.Allow(site.Button{Label: "Approve", Address: site.Path("stacks", t.Namespace, t.Name, "approve"), Key: "a",
				Values: []site.Value{{Name: "plan", Value: t.Status.Plan.Pending}, {Name: "digest", Value: t.Status.Plan.Digest}}}, approves(t))
			e.Approve = &b
		}
		entries = append(entries, e)
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(a.State.Rank()-b.State.Rank(), cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return &site.Page{Title: "Inbox", Section: Section, Commands: []string{"yuba pending -A"},
		Parts: []site.Part{{ID: "inbox", View: "inbox", Data: entries}}, Topics: []live.Topic{{Kind: &infrav1.Terraform{}}}}, nil
}

// approves is the right to approve the plan of a stack.
func approves(t *infrav1.Terraform) access.Right {
	if t.NeedsRecordedApprovals() {
		return access.Right{Verb: "create", Group: "content.yuba.dev", Resource: "terraforms", Subresource: "approve", Namespace: t.Namespace, Name: t.Name}
	}
	return access.Right{Verb: "patch", Group: infrav1.GroupVersion.Group, Resource: "terraforms", Namespace: t.Namespace, Name: t.Name}
}

// approve approves exactly the plan that the person saw.
func (p pages) approve(r *site.Request) (site.Done, error) {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	var t infrav1.Terraform
	if err := r.As.Objects.Get(r.Context(), key, &t); err != nil {
		return site.Done{}, err
	}
	plan := r.PostFormValue("plan")
	if plan == "" {
		return site.Done{}, site.BadRequest("Nothing was approved: the form names no plan.", "")
	}
	id, err := verbs.Approvable(&t, plan)
	var refused *verbs.Refusal
	if errors.As(err, &refused) {
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was approved: %s.", refused.Says), "Look at the stack again.")
	}
	if seen := r.PostFormValue("digest"); seen != t.Status.Plan.Digest {
		return site.Done{}, site.Conflict(fmt.Sprintf("Nothing was approved: plan %s has other bytes than those that you saw.", id), "Look at it again.")
	}
	if t.NeedsRecordedApprovals() {
		if _, err := r.As.Content.Approve(r.Context(), key.Namespace, key.Name, id, t.Status.Plan.Policy.Bound); err != nil {
			return site.Done{}, err
		}
		return site.Done{Says: fmt.Sprintf("Your approval of plan %s of %s is recorded.", id, key)}, nil
	}
	change, _ := verbs.Approve(&t, id, r.Now)
	patch, err := json.Marshal(change.If(t.ResourceVersion))
	if err != nil {
		return site.Done{}, err
	}
	err = r.As.Objects.Patch(r.Context(), &t, client.RawPatch(types.MergePatchType, patch), client.FieldOwner("yuba-web"))
	if apierrors.IsConflict(err) {
		return site.Done{}, &site.Refusal{Code: http.StatusConflict, Says: fmt.Sprintf("Nothing was approved: %s has changed in this moment.", key), Hint: "Look at it again."}
	}
	if err != nil {
		return site.Done{}, err
	}
	return site.Done{Says: fmt.Sprintf("Plan %s of %s is approved and will be applied.", id, key)}, nil
}
