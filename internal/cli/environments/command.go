// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/catalog"
)

// Parts are what other commands lend to these.
type Parts struct {
	// Push stores a directory as an ExternalArtifact.
	Push func(ctx context.Context, s *session.Session, dir string, key types.NamespacedName) (changed bool, err error)
	// Preview is "yuba preview".
	Preview func(a *session.App) *cobra.Command
}

// group has what all commands share.
type group struct {
	*session.App
	Parts
	library, tool, mirror string
	pass, readable        []string
	unconfined            bool
}

// NewCommand is "yuba env".
func NewCommand(a *session.App, parts Parts) *cobra.Command {
	g := &group{App: a, Parts: parts}
	cmd := &cobra.Command{
		Use: "env", Aliases: []string{"environment", "environments"}, SuggestFor: []string{"just", "terragrunt", "make"},
		Short: "Operate the environments of a repository by name, with or without a server",
		Long: `Operate the environments of a repository by name: "yuba env plan staging". An environment is a root module below environments/,
tofu/environments/ or deploy/tofu/environments/, or one that yuba.yaml at the root of the repository names.

The commands run tofu on this machine and need no server. tofu and its providers are confined as runs of a server are: they can write
the environment's directory, read the repository, and get the credentials of the providers that the program uses: AWS_* and ~/.aws
for hashicorp/aws, for example. --pass and --readable give them more.

With a server, "yuba env connect" makes a stack of the same files on the same state.`,
		Example: "  yuba env list\n  yuba env plan staging\n  yuba env apply staging\n  yuba env output staging url",
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&g.library, "library", "", "the root of the repository (default: the nearest directory upwards with yuba.yaml or environments/)")
	flags.StringVar(&g.tool, "tofu", "", "the tofu program to run (default: beside yuba, else on PATH)")
	flags.StringVar(&g.mirror, "provider-mirror", "", "a directory with providers, in place of registries")
	flags.StringArrayVar(&g.pass, "pass", nil, "a variable of your environment for tofu, or the beginning of its name as NAME_*; can be repeated")
	flags.StringArrayVar(&g.readable, "readable", nil, "a file or directory that tofu may read; can be repeated")
	flags.BoolVar(&g.unconfined, "unconfined", false, "run tofu without the sandbox, with all your files")
	ui.Group(cmd, g.newListCommand(), g.newInitCommand(), g.newValidateCommand(), g.newPlanCommand(), g.newApplyCommand(), g.newDestroyCommand(),
		g.newOutputCommand(), g.newConsoleCommand(), g.newTofuCommand(), g.newFmtCommand(), g.newTestCommand(), g.newConnectCommand(), g.newDoctorCommand(), g.newTargetsCommand())
	return cmd
}

// catalog reads the environments.
func (g *group) catalog() (c *catalog.Catalog, err error) {
	if g.library != "" {
		return catalog.Open(g.library)
	}
	c, err = catalog.Find(".")
	var none *catalog.NoLibraryError
	if errors.As(err, &none) {
		err = ui.WithCode(ui.ExitNotFound, err)
	}
	return c, err
}

// named finds an environment.
func (g *group) named(name string) (*catalog.Catalog, catalog.Environment, error) {
	c, err := g.catalog()
	if err != nil {
		return nil, catalog.Environment{}, err
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, catalog.Environment{}, err
	}
	e, err := c.Named(name, cwd)
	if err != nil {
		return nil, e, ui.WithCode(ui.ExitNotFound, err)
	}
	return c, e, nil
}

// complete completes the first argument with the names of environments.
func (g *group) complete(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	c, err := g.catalog()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var names []cobra.Completion
	for _, e := range c.Environments {
		names = append(names, cobra.CompletionWithDesc(e.Name, e.Dir))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func (g *group) newListCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use: "list", Aliases: []string{"ls"},
		Short:   "List the environments of the repository",
		Long:    "List the environments of the repository, where their root modules are, and whether tofu has initialised them here.",
		Example: "  yuba env list\n  yuba env list -o json",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := g.catalog()
		if err != nil {
			return err
		}
		switch {
		case out.Form == "name":
			for _, e := range c.Environments {
				g.print("%s\n", e.Name)
			}
			return nil
		case out.Machine():
			return out.Print(g.Out, map[string]any{"root": c.Root, "items": c.Environments})
		case len(c.Environments) == 0:
			g.News("There are no environments in %s. Make one:\n    yuba new environment staging", c.Root)
			return nil
		}
		rows := [][]string{{"NAME", "DIRECTORY", "TARGET", "WORKSPACE", "STACK", "INITIALISED"}}
		for _, e := range c.Environments {
			initialised := "no"
			if _, err := os.Stat(filepath.Join(c.Root, e.Dir, ".terraform")); err == nil {
				initialised = "yes"
			}
			rows = append(rows, []string{e.Name, e.Dir, or(e.Target), or(e.Workspace), or(e.Stack), initialised})
		}
		return g.Table(rows, out)
	}
	return cmd
}

func or(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
