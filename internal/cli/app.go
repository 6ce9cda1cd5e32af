// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/yuba-dev/yuba/internal/kit/version"
)

// app is one call of the program.
type app struct {
	in       io.Reader
	out, err io.Writer
	// interrupted is closed when the person presses Ctrl-C.
	interrupted <-chan struct{}

	// The flags that all commands share.
	kubeconfig string
	dataDir    string
	color      string
	tokenFile  string
	overrides  clientcmd.ConfigOverrides
}

// Main runs the command line of this process and returns its exit code. SIGINT and SIGTERM end what a command waits for;
// a second one ends the process.
func Main() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	go func() { <-ctx.Done(); stop() }()
	return Execute(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
}

// Execute runs a command line and returns its exit code.
func Execute(ctx context.Context, args []string, in io.Reader, out, errOut io.Writer) int {
	a := &app{in: in, out: out, err: errOut, interrupted: ctx.Done()}
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	text, code := explain(err)
	switch {
	case text == "":
	case code == exitWaiting || code == exitInterrupted:
		a.news("\n%s", text) // nothing went wrong
	default:
		a.news("%s %s", a.paint(a.err, colorRed, "Error:"), text)
	}
	return code
}

// Command returns the whole command tree, for those who describe it.
func Command() *cobra.Command {
	return newRoot(&app{in: os.Stdin, out: io.Discard, err: io.Discard})
}

// The groups of commands in the help.
const (
	groupRun    = "run"
	groupChange = "change"
	groupLook   = "look"
	groupGitOps = "gitops"
	groupState  = "state"
	groupServer = "server"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "yuba",
		Short: "Yuba is the control plane for OpenTofu",
		Long: "Plan, review, apply and drift-check any number of OpenTofu root modules (stacks) from one server.\n\n" +
			"Start it with \"yuba up\", then deploy a directory with \"yuba deploy DIR --name NAME\".\n" +
			"A stack is named NAME, in the namespace of -n, or NAMESPACE/NAME.",
		Example:       "  yuba up\n  yuba deploy ./network --name vpc\n  yuba status vpc",
		Version:       version.String(),
		SilenceErrors: true, SilenceUsage: true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		Args:              noSuchCommand,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageErrorOf(cmd, err) })
	a.addGlobalFlags(root)
	root.AddGroup(
		&cobra.Group{ID: groupRun, Title: "Start:"},
		&cobra.Group{ID: groupChange, Title: "Change stacks:"},
		&cobra.Group{ID: groupLook, Title: "Look at stacks:"},
		&cobra.Group{ID: groupGitOps, Title: "Sources, Kustomizations and artifacts:"},
		&cobra.Group{ID: groupState, Title: "States and locks:"},
		&cobra.Group{ID: groupServer, Title: "The server and its API:"},
	)
	addTo(root, groupRun, newUpCommand(a), newControllerCommand(a))
	addTo(root, groupChange, newDeployCommand(a), newCreateCommand(a), newPushCommand(a), newApproveCommand(a), newRejectCommand(a), newAcknowledgeCommand(a),
		newReplanCommand(a), newReconcileCommand(a), newCancelCommand(a), newDestroyCommand(a), newDeleteCommand(a), newSuspendCommand(a), newResumeCommand(a))
	addTo(root, groupLook, newListCommand(a), newStatusCommand(a), newPendingCommand(a), newPlanCommand(a), newShowCommand(a), newLogsCommand(a), newRunsCommand(a),
		newWhyCommand(a), newOutputsCommand(a), newQueueCommand(a), newTopCommand(a))
	addTo(root, groupGitOps, newGetCommand(a), newTreeCommand(a), newEventsCommand(a), newTenantCommand(a), newPullCommand(a), newTagCommand(a),
		newBuildCommand(a), newDiffCommand(a))
	addTo(root, groupState, newStateCommand(a), newForceUnlockCommand(a), newShellCommand(a))
	addTo(root, groupServer, newBackupCommand(a), newRestoreCommand(a), newAdoptCommand(a), newToolsCommand(a), newProvidersCommand(a), newKubectlCommand(a), newVersionCommand(a))
	root.AddCommand(newCompletionCommand(a), newExitCodesTopic(), newTfctlTopic(), newFluxTopic())
	root.SetHelpCommand(newHelpCommand())
	return root
}

// newHelpCommand takes the place of cobra's, which calls it a success when there is no such command.
func newHelpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]...",
		Short:   "Tell about a command or a topic",
		Long:    "Tell about a command, or about a topic: exit-codes, tfctl, flux.",
		Example: "  yuba help deploy\n  yuba help reconcile source\n  yuba help flux",
		Args:    arguments(0, -1),
		RunE: func(cmd *cobra.Command, args []string) error {
			found, rest, err := cmd.Root().Find(args)
			switch {
			case err != nil:
				return usageErrorOf(cmd.Root(), err)
			case len(rest) > 0:
				return noSuchCommand(found, rest)
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

func (a *app) addGlobalFlags(root *cobra.Command) {
	flags := root.PersistentFlags()
	flags.StringVar(&a.kubeconfig, "kubeconfig", "", "the kubeconfig to use (default $KUBECONFIG, else that of the data directory, else ~/.kube/config)")
	flags.StringVar(&a.dataDir, "data-dir", "", "the data directory of \"yuba up\" (default $YUBA_DATA_DIR, else $XDG_DATA_HOME/yuba)")
	flags.StringVar(&a.color, "color", "auto", "colour: auto, always or never")
	bind := clientcmd.ConfigOverrideFlags{
		CurrentContext: clientcmd.FlagInfo{LongName: "context", Description: "the context of the kubeconfig to use"},
		ContextOverrideFlags: clientcmd.ContextOverrideFlags{
			ClusterName:  clientcmd.FlagInfo{LongName: "cluster", Description: "the cluster of the kubeconfig to use"},
			AuthInfoName: clientcmd.FlagInfo{LongName: "user", Description: "the user of the kubeconfig to use"},
			Namespace:    clientcmd.FlagInfo{LongName: "namespace", ShortName: "n", Description: "the namespace to work in (default that of the context)"},
		},
		ClusterOverrideFlags: clientcmd.ClusterOverrideFlags{
			APIServer: clientcmd.FlagInfo{LongName: "server", Description: "the API server's address"},
		},
		AuthOverrideFlags: clientcmd.AuthOverrideFlags{
			Token:       clientcmd.FlagInfo{LongName: "token", Description: "a bearer token to authenticate with; other users of this machine can see it, so prefer --token-file or $YUBA_TOKEN"},
			Impersonate: clientcmd.FlagInfo{LongName: "as", Description: "act as this user"},
		},
	}
	flags.StringVar(&a.tokenFile, "token-file", "", "a file with a bearer token to authenticate with (default $YUBA_TOKEN, else the kubeconfig's credentials)")
	a.overrides.ClusterDefaults = api.Cluster{}
	clientcmd.BindOverrideFlags(&a.overrides, flags, bind)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error {
		switch a.color {
		case "auto", "always", "never":
			return nil
		}
		return usageErrorf(cmd, "--color %q: want auto, always or never", a.color)
	}
	complete(root, "color", "auto", "always", "never")
	a.completeGlobalFlags(root)
}

// complete offers fixed values for a flag.
func complete(cmd *cobra.Command, flag string, values ...string) {
	err := cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
	if err != nil {
		panic(fmt.Sprintf("%v. This is a bug in Yuba.", err))
	}
}

// The colours of words that the commands themselves say.
const (
	colorRed    = "\x1b[31m"
	colorGreen  = "\x1b[32m"
	colorYellow = "\x1b[33m"
	colorBold   = "\x1b[1m"
	colorReset  = "\x1b[0m"
)

// colors says whether what goes to w may have colours.
func (a *app) colors(w io.Writer) bool {
	switch a.color {
	case "always":
		return true
	case "never":
		return false
	}
	return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" && isTerminal(w)
}

func (a *app) paint(w io.Writer, color, text string) string {
	if text == "" || !a.colors(w) {
		return text
	}
	return color + text + colorReset
}

// interactive says whether somebody is there to answer a question.
func (a *app) interactive() bool { return isTerminal(a.in) }

func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// news tells what goes on, on a line of its own.
func (a *app) news(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
