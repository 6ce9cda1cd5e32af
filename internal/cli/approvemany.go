// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// bulk is an approval of several plans.
type bulk struct {
	chosen
	all, yes bool
}

// wanted tells whether the flags and arguments of approve are about several stacks. A second argument that begins as the ids of
// plans do is one.
func (b *bulk) wanted(args []string) bool {
	return b.all || b.everywhere || b.selector != "" || len(args) > 2 || len(args) == 2 && !strings.HasPrefix(args[1], "plan-")
}

// check refuses what does not go together.
func (b *bulk) check(cmd *cobra.Command, args []string, single bool) error {
	some := b.all || b.everywhere || b.selector != ""
	switch {
	case !some && len(args) == 0:
		return usageErrorf(cmd, "name stacks, or use --all or -l")
	case some && len(args) > 0:
		return usageErrorf(cmd, "name stacks or use --all, -A or -l, not both")
	case b.everywhere && !b.all && b.selector == "":
		return usageErrorf(cmd, "-A approves plans in all namespaces: say which, with --all or -l")
	case single && b.wanted(args):
		return usageErrorf(cmd, "--wait and --filename are for one stack")
	}
	return nil
}

// approveMany approves the plans that wait now, each by its id: one that takes the place of another meanwhile is not approved.
func (s *session) approveMany(cmd *cobra.Command, b *bulk, args []string, out *output) error {
	waiting, err := s.toApprove(cmd, b, args)
	if err != nil {
		return err
	}
	if len(waiting) == 0 {
		s.news("No plan waits for approval.")
		return nil
	}
	if len(args) == 0 {
		if err := s.showPending(cmd.Context(), waiting, true); err != nil {
			return err
		}
		if err := s.mustConfirm(b.yes, fmt.Sprintf("Approve %s? \"yuba pending\" shows what they change.", count(len(waiting), "plan"))); err != nil {
			return err
		}
	}
	approved := stackList()
	var problems []error
	for i := range waiting {
		t, err := s.approveOne(cmd.Context(), &waiting[i])
		if err != nil {
			problems = append(problems, err)
			continue
		}
		approved.Items = append(approved.Items, *t)
	}
	if out.machine() {
		problems = append(problems, s.printStacks(approved, out))
	}
	return errors.Join(problems...)
}

// toApprove are the stacks that are named, or those of the selection whose plans wait.
func (s *session) toApprove(cmd *cobra.Command, b *bulk, args []string) ([]infrav1.Terraform, error) {
	if len(args) == 0 {
		return s.awaiting(cmd, b.chosen)
	}
	var stacks infrav1.TerraformList
	err := s.listNamed(cmd, args, &stacks)
	return stacks.Items, err
}

func (s *session) approveOne(ctx context.Context, seen *infrav1.Terraform) (*infrav1.Terraform, error) {
	key := keyOf(seen)
	id, err := s.approvable(seen, "")
	if err != nil {
		return nil, err
	}
	t, err := s.get(ctx, key)
	if err != nil {
		return nil, err
	}
	if id, err = s.approvable(t, id); err != nil {
		return nil, err
	}
	s.warnOfEnforcer(t)
	change, _ := approval(t, id)
	if t, err = s.patch(ctx, "approve the plan of", key, change); err != nil {
		return nil, err
	}
	s.news("Plan %s of %s is approved.", id, key)
	return t, nil
}
