// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/bundle"
)

// Home is a server that a command runs.
type Home interface {
	// Serve runs the server until ctx ends. It calls ready when commands can use it.
	Serve(ctx context.Context, a *session.App, cmd *cobra.Command, ready func()) error
}

// Bundler writes bundles.
type Bundler interface {
	// Create writes the bundle, with more content than the flags name.
	Create(cmd *cobra.Command, a *session.App, content bundle.Content) error
	// AddFileFlags adds flags for files that modules declare.
	AddFileFlags(cmd *cobra.Command)
	// Platforms are those of the flags.
	Platforms() []string
}

// Parts are what other commands lend to this one.
type Parts struct {
	// AddHome gives a command the flags of a home.
	AddHome func(cmd *cobra.Command) Home
	// AddBundle gives a command the flags of one that creates a bundle.
	AddBundle func(cmd *cobra.Command) Bundler
	// Holder returns the process that uses a data directory.
	Holder func(dir string) (pid int, since time.Time, held bool, err error)
	// Push stores a directory as an ExternalArtifact.
	Push func(ctx context.Context, s *session.Session, dir string, key types.NamespacedName) (changed bool, err error)
}

// group has what all commands share.
type group struct {
	*session.App
	Parts
	home string
}

// NewCommand is "yuba bootstrap".
func NewCommand(a *session.App, parts Parts) *cobra.Command {
	g := &group{App: a, Parts: parts}
	cmd := &cobra.Command{
		Use: "bootstrap [--from FILE]", SuggestFor: []string{"platform", "provision", "wizard"},
		Short: "Make a platform from a blueprint: network, machines, Kubernetes, DNS and components",
		Long: `Make a platform from a blueprint, and show its phases until all are ready. The blueprint is a file with one Platform; without
--from, the command asks for it on a terminal and writes the file.

The phases are ordinary stacks: network, machines, kubernetes, dns, gitops, then the components. Their plans wait for your approval,
unless the blueprint says "approval: Auto".

The command uses the server that runs on the directory of --home, or runs one for as long as it works. Press Ctrl-C at any time: what
has begun finishes, and "yuba bootstrap resume" goes on. The same blueprint again continues or changes the platform: it is known by its
DNS name.`,
		Example: "  yuba bootstrap\n  yuba bootstrap --from platform.yaml --home ./acme --modules ./modules\n" +
			"  yuba bootstrap --from platform.yaml --credentials hetzner=hetzner.env --yes -o json",
		Args: ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.PersistentFlags().StringVar(&g.home, "home", "", "the directory with everything that the platform needs until it runs itself (default that of --data-dir)")
	g.makes(cmd)
	cmd.AddCommand(g.newStatusCommand(), g.newLogsCommand(), g.newRetryCommand(), g.newResumeCommand(), g.newAbortCommand(), g.newDecommissionCommand(),
		g.newValidateCommand(), g.newSchemaCommand(), g.newBundleCommand())
	return cmd
}

// enter makes the directory of --home the data directory of this call.
func (g *group) enter() {
	if g.home != "" {
		g.DataDir = g.home
	}
}

// connected makes the action of a command that needs a server that runs.
func (g *group) connected(do func(*cobra.Command, *session.Session, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		g.enter()
		if !g.remote(cmd) && g.DataDir != "" {
			if _, _, held, err := g.Holder(g.DataDirectory()); err == nil && !held {
				return ui.Exitf(ui.ExitWaiting, "no server runs on %s. Continue the bootstrap, or start the server:\n    yuba bootstrap resume --home %s\n    yuba up --data-dir %s", g.DataDirectory(), g.DataDirectory(), g.DataDirectory())
			}
		}
		return g.InSession(do)(cmd, args)
	}
}

// remote reports whether flags name another API than that of the data directory.
func (g *group) remote(cmd *cobra.Command) bool {
	for _, flag := range []string{"kubeconfig", "context", "server"} {
		if f := cmd.Flag(flag); f != nil && f.Changed {
			return true
		}
	}
	return false
}
