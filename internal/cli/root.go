// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/applications"
	"github.com/yuba-dev/yuba/internal/cli/audit"
	"github.com/yuba-dev/yuba/internal/cli/bootstrap"
	"github.com/yuba-dev/yuba/internal/cli/bundle"
	"github.com/yuba-dev/yuba/internal/cli/definitions"
	"github.com/yuba-dev/yuba/internal/cli/dns"
	"github.com/yuba-dev/yuba/internal/cli/environments"
	"github.com/yuba-dev/yuba/internal/cli/gitops"
	"github.com/yuba-dev/yuba/internal/cli/handover"
	"github.com/yuba-dev/yuba/internal/cli/modules"
	"github.com/yuba-dev/yuba/internal/cli/move"
	"github.com/yuba-dev/yuba/internal/cli/policies"
	"github.com/yuba-dev/yuba/internal/cli/preview"
	"github.com/yuba-dev/yuba/internal/cli/pullrequests"
	"github.com/yuba-dev/yuba/internal/cli/refactor"
	"github.com/yuba-dev/yuba/internal/cli/registry"
	"github.com/yuba-dev/yuba/internal/cli/scaffold"
	"github.com/yuba-dev/yuba/internal/cli/sealing"
	"github.com/yuba-dev/yuba/internal/cli/secrets"
	"github.com/yuba-dev/yuba/internal/cli/server"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/stacks"
	"github.com/yuba-dev/yuba/internal/cli/state"
	"github.com/yuba-dev/yuba/internal/cli/tenants"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/cli/vault"
	"github.com/yuba-dev/yuba/internal/kit/version"
)

// Main runs the command line of this process and returns its exit code. SIGINT and SIGTERM cancel
// the command; a second one ends the process.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); stop() }()
	return Execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Execute runs a command line and returns its exit code.
func Execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &session.App{Console: &ui.Console{In: in, Out: out, Err: errOut, Interrupted: ctx.Done()}}
	root := newRoot(a)
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	if err == nil {
		return ui.ExitOK
	}
	text, code := session.ExplainOf(cmd, err)
	switch {
	case text == "":
	case code == ui.ExitWaiting || code == ui.ExitInterrupted:
		a.News("\n%s", text) // nothing went wrong
	default:
		a.News("%s %s", a.Paint(a.Err, ui.ColorRed, "Error:"), text)
	}
	return code
}

// Command returns the whole command tree, for its reference.
func Command() *cobra.Command {
	return newRoot(&session.App{Console: &ui.Console{In: os.Stdin, Out: io.Discard, Err: io.Discard}})
}

// The groups of commands in the help.
const (
	groupRun     = "run"
	groupChange  = "change"
	groupInspect = "look"
	groupGitOps  = "gitops"
	groupState   = "state"
	groupServer  = "server"
)

func newRoot(a *session.App) *cobra.Command {
	root := ui.Group(&cobra.Command{
		Use:   "yuba",
		Short: "Yuba is the control plane for OpenTofu",
		Long: "Plan, review, apply and drift-check any number of OpenTofu root modules (stacks) from one server.\n\n" +
			"Start it with \"yuba up\", then deploy a directory with \"yuba deploy DIR --name NAME\".\n" +
			"A stack is named NAME, in the namespace of -n, or NAMESPACE/NAME.\n\n" +
			"\"yuba web\" opens the web page, which has the documentation of this version.",
		Example:       "  yuba up\n  yuba deploy ./network --name vpc\n  yuba status vpc",
		Version:       version.String(),
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	})
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return ui.UsageErrorOf(cmd, err) })
	a.AddGlobalFlags(root)
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Start:"},
		&cobra.Group{ID: groupChange, Title: "Change stacks:"},
		&cobra.Group{ID: groupInspect, Title: "Inspect stacks:"},
		&cobra.Group{ID: groupGitOps, Title: "Sources, Kustomizations and artifacts:"},
		&cobra.Group{ID: groupState, Title: "States and locks:"},
		&cobra.Group{ID: groupServer, Title: "The server and its API:"},
	)
	list, push := stacks.NewListCommand(a), stacks.NewPushCommand(a)
	list.AddCommand(gitops.NewListArtifactsCommand(a))
	push.AddCommand(gitops.NewPushArtifactCommand(a))
	create, remove, reconcile := stacks.NewCreateCommand(a), stacks.NewDeleteCommand(a), stacks.NewReconcileCommand(a)
	suspend, resume := stacks.NewSuspendCommand(a), stacks.NewResumeCommand(a)
	gitops.Verbs{Create: create, Delete: remove, Reconcile: reconcile, Suspend: suspend, Resume: resume}.AddKinds(a)
	addTo(root, groupRun, server.NewUpCommand(a), bootstrap.NewCommand(a, bootstrap.Parts{Holder: server.HolderOf, Push: stacks.PushDirectory,
		AddHome: func(cmd *cobra.Command) bootstrap.Home { return server.AddHome(cmd) }, AddBundle: func(cmd *cobra.Command) bootstrap.Bundler { return bundle.AddFlags(cmd) }}), server.NewControllerCommand(a), server.NewWebCommand(a))
	addTo(root, groupChange, stacks.NewDeployCommand(a), create, push, stacks.NewApproveCommand(a), stacks.NewRejectCommand(a), stacks.NewAcknowledgeCommand(a),
		stacks.NewReplanCommand(a), reconcile, stacks.NewCancelCommand(a), stacks.NewDestroyCommand(a), remove, suspend, resume)
	addTo(root, groupInspect, list, stacks.NewStatusCommand(a), stacks.NewPendingCommand(a), stacks.NewPlanCommand(a), stacks.NewShowCommand(a),
		preview.NewCommand(a), preview.NewCICommand(a), modules.NewCommand(a), environments.NewCommand(a, environments.Parts{Push: stacks.PushDirectory, Preview: preview.NewCommand}), scaffold.NewCommand(a), pullrequests.NewCommand(a), stacks.NewLogsCommand(a), stacks.NewRunsCommand(a),
		stacks.NewWhyCommand(a), stacks.NewGraphCommand(a), stacks.NewImpactCommand(a), state.NewOutputsCommand(a), applications.NewCommand(a), definitions.NewCommand(a), dns.NewCommand(a), policies.NewCommand(a), audit.NewCommand(a),
		stacks.NewQueueCommand(a), stacks.NewTopCommand(a))
	addTo(root, groupGitOps, gitops.NewGetCommand(a), gitops.NewTreeCommand(a), gitops.NewEventsCommand(a), tenants.NewTenantCommand(a), gitops.NewPullCommand(a), gitops.NewTagCommand(a),
		gitops.NewBuildCommand(a), gitops.NewDiffCommand(a), registry.NewCommand(a))
	addTo(root, groupState, state.NewStateCommand(a), refactor.NewCommand(a), state.NewForceUnlockCommand(a), state.NewConsoleCommand(a), state.NewShellCommand(a))
	providers := server.NewProvidersCommand(a)
	providers.AddCommand(state.NewProvidersLockCommand(a))
	addTo(root, groupServer, server.NewBackupCommand(a), server.NewRestoreCommand(a), sealing.NewCommand(a), secrets.NewCommand(a), handover.NewCommand(a), handover.NewTakeBackCommand(a), move.NewCommand(a), state.NewAdoptCommand(a), vault.NewCommand(a), bundle.NewCommand(a), server.NewToolsCommand(a), providers, server.NewCRDsCommand(a), server.NewKubectlCommand(a), server.NewVersionCommand(a))
	root.AddCommand(server.NewCompletionCommand(a), newExitCodesTopic(), newTfctlTopic(), newFluxTopic())
	root.AddCommand(newHomesTopic(root))
	root.SetHelpCommand(newHelpCommand())
	return root
}

// newHelpCommand replaces cobra's, which succeeds for an unknown command.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Show help for a command or a topic",
		Long:    "Show help for a command, or for a topic: homes, exit-codes, tfctl, flux.",
		Example: "  yuba help deploy\n  yuba help reconcile source\n  yuba help flux",
		Args:    ui.Arguments(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return ui.UsageErrorOf(cmd.Root(), err)
			case len(rest) > 0:
				return ui.NoSuchCommand(found, rest)
			}
			found.InitDefaultHelpFlag()
			return found.Help()
		},
	}
}

func addTo(parent *cobra.Command, group string, commands ...*cobra.Command) {
	for _, c := range commands {
		c.GroupID = group
		parent.AddCommand(c)
	}
}
