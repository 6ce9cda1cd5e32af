// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
)

// newDeprecateCommand is "yuba registry deprecate".
func newDeprecateCommand(a *session.App) *cobra.Command {
	return newNoticeCommand(a, catalog.Deprecated, &cobra.Command{
		Use:   "deprecate NAMESPACE/NAME/SYSTEM@VERSION --reason TEXT",
		Short: "Advise against a version of a module",
		Long: `Advise against a version of a module, for instance because it has a successor. The version still works. Its users see the
reason in their plans and in "yuba why".`,
		Example: "  yuba registry deprecate acme/vpc/aws@1.2.0 --reason 'use 2.0.0, which needs fewer addresses'",
	})
}

// newRevokeCommand is "yuba registry revoke".
func newRevokeCommand(a *session.App) *cobra.Command {
	return newNoticeCommand(a, catalog.Revoked, &cobra.Command{
		Use:   "revoke NAMESPACE/NAME/SYSTEM@VERSION --reason TEXT",
		Short: "Declare a version of a module harmful",
		Long: `Declare a version of a module harmful, for instance because it has a vulnerability. Its users see the reason in their plans
and in "yuba why". The archive stays, so that stacks that use the version can still be changed and destroyed. Later
releases are not compared with it.`,
		Example: "  yuba registry revoke acme/vpc/aws@1.2.1 --reason 'opens port 22 to everybody; use 1.2.2'",
	})
}

func newNoticeCommand(a *session.App, kind catalog.NoticeKind, cmd *cobra.Command) *cobra.Command {
	var reason string
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(1, 1), releaseNames(a)
	cmd.Flags().StringVar(&reason, "reason", "", "what users of the version should know and do (required)")
	ui.CompleteFlag(cmd, "reason", ui.NoNames)
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	run := mark(a, out, func() *catalog.Notice { return &catalog.Notice{Kind: kind, Reason: reason} })
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return ui.UsageErrorf(cmd, "--reason is missing: users see it in their plans")
		}
		return run(cmd, args)
	}
	return cmd
}

// newUndoCommand is "yuba registry restore".
func newUndoCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "restore NAMESPACE/NAME/SYSTEM@VERSION",
		Aliases: []string{"undo"},
		Short:   "Withdraw the deprecation or revocation of a version",
		Long:    "Remove the notice of a version that was deprecated or revoked. It succeeds if there is none.",
		Example: "  yuba registry restore acme/vpc/aws@1.2.0",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: releaseNames(a),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = mark(a, out, func() *catalog.Notice { return nil })
	return cmd
}

// mark makes the action of a command that sets the notice of a release.
func mark(a *session.App, out *ui.Output, notice func() *catalog.Notice) func(*cobra.Command, []string) error {
	return a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		v, err := layout.ParseModuleVersion(args[0])
		if err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		release, err := s.Content.MarkModule(cmd.Context(), v, notice())
		switch {
		case err != nil:
			return explained(err, cmd.Name()+" "+v.String())
		case out.Machine():
			return out.Print(s.Out, release)
		case release.Notice == nil:
			s.News("%s has no notice.", v)
		default:
			s.News("%s is %s: %s\nWithdraw it with:\n    yuba registry restore %s", v, release.Notice.Kind, release.Notice.Reason, v)
		}
		return nil
	})
}
