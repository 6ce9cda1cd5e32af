// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

type bulk struct {
	chosen
	all, yes bool
}

// wanted reports whether several stacks are selected. A second argument may also be a plan id.
func (b *bulk) wanted(args []string) bool {
	return b.all || b.everywhere || b.selector != "" || len(args) > 2 || len(args) == 2 && !strings.HasPrefix(args[1], "plan-")
}

// check rejects flags and arguments that exclude each other.
func (b *bulk) check(cmd *cobra.Command, args []string, single bool) error {
	some := b.all || b.everywhere || b.selector != ""
	switch {
	case !some && len(args) == 0:
		return ui.UsageErrorf(cmd, "name stacks, or use --all or -l")
	case some && len(args) > 0:
		return ui.UsageErrorf(cmd, "name stacks or use --all, -A or -l, not both")
	case b.everywhere && !b.all && b.selector == "":
		return ui.UsageErrorf(cmd, "-A approves plans in all namespaces: select them with --all or -l")
	case single && b.wanted(args):
		return ui.UsageErrorf(cmd, "--wait and --filename are for one stack")
	}
	return nil
}

// approveMany approves the pending plans by their ids, so that it never approves a newer plan.
func approveMany(s *session.Session, cmd *cobra.Command, b *bulk, args []string, out *ui.Output) error {
	waiting, err := toApprove(s, cmd, b, args)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		s.News("No plan waits for approval.")
		return nil
	}
	if len(args) == 0 {
		if err := showPending(cmd.Context(), s, waiting, true); err != nil {
			return err
		}
		if err := s.MustConfirm(b.yes, fmt.Sprintf("Approve %s? \"yuba pending\" shows what they change.", ui.Count(len(waiting), "plan"))); err != nil {
			return err
		}
	}
	approved := session.StackList()
	var problems []error
	for i := range waiting {
		t, err := approveSeen(cmd.Context(), s, &waiting[i])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		approved.Items = append(approved.Items, *t)
	}
	if out.Machine() {
		problems = append(problems, s.PrintStacks(approved, out))
	}
	return errors.Join(problems...)
}

// toApprove are the named stacks, or the selected ones whose plans wait.
func toApprove(s *session.Session, cmd *cobra.Command, b *bulk, args []string) ([]infrav1.Terraform, error) {
	if len(args) == 0 {
		return awaiting(s, cmd, b.chosen)
	}
	keys, err := s.Keys(cmd, session.Stacks, args)
	stacks := make([]infrav1.Terraform, 0, len(keys))
	for _, key := range keys {
		t, err := s.Get(cmd.Context(), key)
		if err != nil {
			return nil, err
		}
		stacks = append(stacks, *t)
	}
	return stacks, err
}

// approveSeen approves the plan that was pending when the stack was listed.
func approveSeen(ctx context.Context, s *session.Session, seen *infrav1.Terraform) (*infrav1.Terraform, error) {
	key := session.KeyOf(seen)
	id, err := approvable(s, seen, "")
	if err != nil {
		return nil, err
	}
	t, err := s.Get(ctx, key)
	if err != nil {
		return nil, err
	}
	if id, err = approvable(s, t, id); err != nil {
		return nil, err
	}
	t, _, err = approveOne(ctx, s, t, id)
	switch {
	case err != nil:
	case t.NeedsRecordedApprovals() && t.Status.Plan.Pending == id:
		s.News("Your approval of plan %s of %s is recorded. %s.", id, key, t.Status.Plan.Policy.Message)
	default:
		s.News("Plan %s of %s is approved.", id, key)
	}
	return t, err
}
