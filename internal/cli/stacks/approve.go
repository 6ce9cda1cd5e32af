// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	keep "github.com/yuba-dev/yuba/internal/objects/approval"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// NewApproveCommand is "yuba approve".
func NewApproveCommand(a *session.App) *cobra.Command {
	var wait bool
	var file string
	var b bulk
	cmd := &cobra.Command{
		Use:   "approve NAME [PLAN-ID]",
		Short: "Approve the pending plan, so that Yuba applies it",
		Long: `Approve the pending plan. Yuba applies exactly that plan, without planning again. With PLAN-ID the command refuses if
another plan is pending by now; without it, the command approves whichever plan is pending, so look at it first.

With several names the command approves the plan of each stack; --all and -l approve the pending plans of the namespace, or
with -A of all namespaces. The command lists them and asks, or needs --yes.

Where policies ask for approvals by certain people, the server records who approves, as the API knows them, and the plan is
applied once all approvals are there. "yuba audit" shows them.

With -f the command writes the approval into the stack's manifest on disk, for you to commit, and does not change the stack
itself. It changes only that one value of the file.`,
		Example: "  yuba plan vpc && yuba approve vpc\n  yuba approve vpc plan-main-1a2b3c4d5e --wait\n  yuba approve vpc -f clusters/prod/vpc.yaml\n" +
			"  yuba approve vpc dns db\n  yuba pending -n staging && yuba approve -n staging --all",
		Args: ui.Arguments(0, -1), ValidArgsFunction: a.StackNames(true),
	}
	cmd.Flags().BoolVarP(&wait, "wait", "w", false, "show the apply and wait until it ends")
	cmd.Flags().StringVarP(&file, "filename", "f", "", "write the approval into this manifest instead")
	ui.AddTimeoutFlag(cmd, 0, "maximum time to wait")
	cmd.Flags().BoolVar(&b.all, "all", false, "approve all pending plans")
	cmd.Flags().BoolVar(&b.yes, "yes", false, "approve without asking")
	b.add(cmd, "approve plans")
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		if file != "" && wait {
			return ui.UsageErrorf(cmd, "use --filename or --wait, not both: Yuba applies a committed approval later")
		}
		return b.check(cmd, args, file != "" || wait)
	}
	one := a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, rest []string) error {
		id, err := approvable(s, t, strings.Join(rest, ""))
		switch {
		case err != nil:
			return err
		case file != "":
			return commitApproval(s, t, id, file)
		}
		return approve(ctx, s, t, id, wait, out)
	})
	many := a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		return approveMany(s, cmd, &b, args, out)
	})
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if b.wanted(args) {
			return many(cmd, args)
		}
		return one(cmd, args)
	}
	return cmd
}

// commitApproval approves a plan in the stack's manifest, for stacks that are kept in git.
func commitApproval(s *session.Session, t *infrav1.Terraform, id, file string) error {
	key := session.KeyOf(t)
	if t.NeedsRecordedApprovals() {
		return ui.Exitf(ui.ExitFailure, "approve %s: policies ask for approvals by people whom the API knows, and a manifest does not say who wrote it: %s. Approve it on the server:\n    yuba approve %s",
			key, t.Status.Plan.Policy.Message, s.Call(key))
	}
	if t.AppliesByItself() {
		return ui.Exitf(ui.ExitFailure, "approve %s: the manifest says %q, which should stay; only this one plan is held %s. Approve it on the server:\n    yuba approve %s",
			key, t.Spec.ApprovePlan, verbs.HeldBecause(t), s.Call(key))
	}
	changed, err := approveInFile(file, key, id)
	switch {
	case err != nil:
		return fmt.Errorf("write the approval of plan %s of %s: %w", id, key, err)
	case !changed:
		s.News("%s approves plan %s of %s already.", file, id, key)
	default:
		s.News("%s approves plan %s of %s now. Commit and push it.", file, id, key)
	}
	return nil
}

// approveOne approves a plan, and returns the changed stack and the reconcile request.
func approveOne(ctx context.Context, s *session.Session, t *infrav1.Terraform, id string) (*infrav1.Terraform, string, error) {
	if t.NeedsRecordedApprovals() {
		approved, err := recordApproval(ctx, s, t, id)
		return approved, "", err
	}
	warnOfEnforcer(s, t)
	change, request := verbs.Approve(t, id, time.Now())
	approved, err := s.Patch(ctx, "approve the plan of", session.KeyOf(t), change)
	return approved, request, err
}

func approve(ctx context.Context, s *session.Session, t *infrav1.Terraform, id string, wait bool, out *ui.Output) error {
	key := session.KeyOf(t)
	approved, request, err := approveOne(ctx, s, t, id)
	switch {
	case err != nil:
		return err
	case !wait && out.Machine():
		return s.PrintStack(approved, out)
	case approved.NeedsRecordedApprovals() && approved.Status.Plan.Pending == id:
		return stillWaits(s, approved, id, wait, out)
	case !wait:
		s.News("Plan %s of %s is approved and will be applied. Follow it:\n    yuba logs %s -f", id, key, s.Call(key))
		return nil
	}
	s.News("Plan %s of %s is approved.", id, key)
	r := review{action: "approve", out: out, follower: followed(s, t, request, approved.Generation)}
	return r.run(ctx)
}

// warnOfEnforcer warns if the object shows that a manifest may reset spec.approvePlan.
func warnOfEnforcer(s *session.Session, t *infrav1.Terraform) {
	if by := keep.Enforcer(t); by != "" && !t.AppliesByItself() {
		s.News("%s applies approvePlan from a manifest, and may set it back before the plan is applied. Approve in that manifest instead:\n"+
			"    yuba approve %s -f FILE\nor leave approvePlan out of it.", diagnostic.Printable(by), s.Call(session.KeyOf(t)))
	}
}

// approvable returns the plan that can be approved, or an error that says why there is none.
func approvable(s *session.Session, t *infrav1.Terraform, id string) (string, error) {
	id, err := verbs.Approvable(t, id)
	if err != nil {
		return "", refused(s, "approve", session.KeyOf(t), err)
	}
	return id, nil
}

// refused says what cannot be done to a stack, why, and the command that comes next.
func refused(s *session.Session, action string, key types.NamespacedName, err error) error {
	var why *verbs.Refusal
	if !errors.As(err, &why) {
		return fmt.Errorf("%s %s: %w", action, key, err)
	}
	text := fmt.Sprintf("%s %s: %s", action, key, why.Says)
	if why.Next != "" {
		text += fmt.Sprintf(". %s:\n    yuba %s %s", why.Hint, why.Next, s.Call(key))
	}
	code := ui.ExitFailure
	if why.Gone {
		code = ui.ExitNotFound
	}
	return ui.Exitf(code, "%s", text)
}

// NewRejectCommand is "yuba reject".
func NewRejectCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "reject NAME [PLAN-ID]",
		Short: "Reject the pending plan, so that it is never applied",
		Long: `Reject the pending plan. Yuba does not apply it, even where it applies plans without approval. A change of the
source or the stack makes a new plan, and so does "yuba replan".`,
		Example: "  yuba reject vpc\n  yuba reject vpc plan-main-1a2b3c4d5e",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: a.StackAnd(pendingPlan, false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnStack(func(ctx context.Context, s *session.Session, t *infrav1.Terraform, rest []string) error {
		key, pending := session.KeyOf(t), t.Status.Plan.Pending
		change, err := verbs.Reject(t, strings.Join(rest, ""))
		switch {
		case err != nil && pending == "":
			return ui.Exitf(ui.ExitNotFound, "reject: %s has no pending plan", key)
		case err != nil:
			return ui.Exitf(ui.ExitNotFound, "reject: plan %s of %s is not pending; the pending plan is %s", rest[0], key, pending)
		}
		rejected, err := s.Patch(ctx, "reject the plan of", key, change)
		if err != nil {
			return err
		}
		s.News("Plan %s of %s is rejected.", pending, key)
		return s.PrintStack(rejected, out)
	})
	return cmd
}
