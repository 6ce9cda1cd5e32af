// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"slices"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// judgedWithin is how long the command waits until policies have considered an approval. It takes
// milliseconds; after that the command says what it knows.
const judgedWithin = 10 * time.Second

// recordApproval approves a plan as the user whom the API server authenticates, and returns the stack
// after the policies have considered that.
func recordApproval(ctx context.Context, s *session.Session, t *infrav1.Terraform, id string) (*infrav1.Terraform, error) {
	key := session.KeyOf(t)
	given, err := s.Content.Approve(ctx, key.Namespace, key.Name, id, t.Status.Plan.Policy.Bound)
	if err != nil {
		return nil, fmt.Errorf("approve plan %s of %s: %w", id, key, err)
	}
	within, cancel := context.WithTimeout(ctx, judgedWithin)
	defer cancel()
	seen, err := s.WaitFor(within, key, func(t *infrav1.Terraform) bool {
		p := t.Status.Plan
		if p.Pending != id {
			return true
		}
		there := slices.ContainsFunc(p.Approvals, func(a infrav1.PlanApproval) bool { return a.User == given.User && a.Bound == given.Bound })
		return there && p.Policy != nil && int(p.Policy.ApprovalsSeen) == len(p.Approvals)
	})
	if err != nil && ctx.Err() == nil {
		return s.Get(ctx, key)
	}
	if err == nil && seen == nil {
		err = ui.Exitf(ui.ExitNotFound, "approve %s: the stack was deleted meanwhile", key)
	}
	return seen, err
}

// stillWaits says whose approvals are missing.
func stillWaits(s *session.Session, t *infrav1.Terraform, id string, wait bool, out *ui.Output) error {
	key := session.KeyOf(t)
	s.News("Your approval of plan %s of %s is recorded. %s.", id, key, t.Status.Plan.Policy.Message)
	if out.Machine() {
		return s.PrintStack(t, out)
	}
	if wait {
		return ui.Exitf(ui.ExitWaiting, "approve %s: plan %s waits for other approvals. See:\n    yuba plan %s", key, id, s.Call(key))
	}
	return nil
}
