// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package secrets

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/catalog"
	"github.com/yuba-dev/yuba/internal/secrets/declare"
	"github.com/yuba-dev/yuba/internal/secrets/rotate"
)

// group has what all commands share.
type group struct {
	*session.App
	library    string
	identities []string
	trusted    []string
}

// NewCommand is "yuba secrets".
func NewCommand(a *session.App) *cobra.Command {
	g := &group{App: a}
	cmd := &cobra.Command{
		Use: "secrets", Aliases: []string{"secret"},
		Short: "Make, rotate and check the secrets of an environment",
		Long: `Make, rotate and check the secrets that an environment declares in its file secrets.yaml: passwords, tokens, key pairs and
certificates. They are kept in a Secret of Kubernetes, a file of SOPS, Vault, or a cloud's store.

A rotation has two steps. First the new values are current and the old ones stay valid; the stacks that read them run one after the
other. Then the old values end, and the stacks run again. If a stack fails, the rotation is rolled back. An interrupted rotation is
continued by the same command.

Values are never printed, except by "yuba secrets show --reveal". Credentials of stores come from the variables and files that their own
tools use: VAULT_TOKEN, AWS_ACCESS_KEY_ID, GOOGLE_APPLICATION_CREDENTIALS, AZURE_CLIENT_ID, SOPS_AGE_KEY_FILE, the kubeconfig. They are
only sent to the clouds and to addresses that you name yourself, as in VAULT_ADDR or with --trust-address.`,
		Example: "  yuba secrets init staging\n  yuba secrets show staging\n  yuba secrets rotate staging database",
	}
	flags := cmd.PersistentFlags()
	flags.StringVar(&g.library, "library", "", "the root of the repository (default: the nearest directory upwards with yuba.yaml or environments/)")
	flags.StringArrayVarP(&g.identities, "identity", "i", nil, "a file of age-keygen for files of SOPS; can be repeated (default $SOPS_AGE_KEY_FILE, else that of sops)")
	flags.StringArrayVar(&g.trusted, "trust-address", nil, "an address of a store that gets your credentials, beside those in the variables of its own tools, such as $VAULT_ADDR; can be repeated")
	return ui.Group(cmd, g.newInitCommand(), g.newRotateCommand(), g.newShowCommand(), g.newCheckCommand(), g.newSyncCommand(), g.newSchemaCommand())
}

func (g *group) catalog() (*catalog.Catalog, error) {
	if g.library != "" {
		return catalog.Open(g.library)
	}
	return catalog.Find(".")
}

// complete completes the first argument with environments that have secrets, and further ones with secrets.
func (g *group) complete(names bool) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		var found []cobra.Completion
		c, err := g.catalog()
		switch {
		case err != nil, len(args) > 0 && !names:
		case len(args) == 0:
			for _, e := range c.Environments {
				if _, err := os.Stat(filepath.Join(c.Root, filepath.FromSlash(e.Dir), declare.FileName)); err == nil {
					found = append(found, cobra.CompletionWithDesc(e.Name, e.Dir))
				}
			}
		default:
			if e, err := g.read(args[0]); err == nil {
				for _, s := range e.file.Secrets {
					found = append(found, cobra.CompletionWithDesc(s.Name, s.Kind()))
				}
			}
		}
		return found, cobra.ShellCompDirectiveNoFileComp
	}
}

// declared is an environment with its file.
type declared struct {
	// name is that of the catalog, however the caller named the environment.
	name, dir string
	file      *declare.File
}

// read finds an environment, and reads its file.
func (g *group) read(name string) (*declared, error) {
	c, err := g.catalog()
	if err != nil {
		return nil, ui.WithCode(ui.ExitNotFound, err)
	}
	cwd, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	e, err := c.Named(name, cwd)
	if err != nil {
		return nil, ui.WithCode(ui.ExitNotFound, err)
	}
	d := &declared{name: e.Name, dir: filepath.Join(c.Root, filepath.FromSlash(e.Dir))}
	content, err := os.ReadFile(filepath.Join(d.dir, declare.FileName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ui.Exitf(ui.ExitNotFound, "read the secrets of %s: %s does not exist. Declare them there; see the example of docs/how-to/secrets.md", name, filepath.Join(e.Dir, declare.FileName))
	}
	if err != nil {
		return nil, fmt.Errorf("read the secrets of %s: %w", name, err)
	}
	d.file, err = declare.Read(filepath.Join(e.Dir, declare.FileName), content)
	return d, err
}

// keeper opens the stores of an environment. withStacks also finds its dependents.
func (g *group) keeper(ctx context.Context, name string, withStacks bool) (*rotate.Keeper, error) {
	e, err := g.read(name)
	if err != nil {
		return nil, err
	}
	f := e.file
	var connected *session.Session
	connect := func() (*session.Session, error) {
		if connected != nil {
			return connected, nil
		}
		connected, err = g.Connect()
		return connected, err
	}
	o := &opener{dir: e.dir, identities: g.identities, trusted: g.trusted, session: connect}
	k := &rotate.Keeper{Environment: e.name, File: f, Now: time.Now, News: g.News}
	if k.Store, err = o.place(f.Store); err != nil {
		return nil, err
	}
	for _, s := range f.Copies {
		place, err := o.place(s)
		if err != nil {
			return nil, err
		}
		k.Copies = append(k.Copies, place)
	}
	if withStacks && (len(f.Dependents) > 0 || len(f.Objects()) > 0) {
		s, err := connect()
		if err != nil {
			return nil, err
		}
		if k.Dependents, err = dependents(ctx, s, f); err != nil {
			return nil, err
		}
		k.Stacks = &stacks{s, f, e.name}
	}
	return k, nil
}

// action makes the action of a command about one environment.
func (g *group) action(withStacks bool, do func(context.Context, *rotate.Keeper, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		ctx, cancel := ui.WithTimeout(cmd)
		defer cancel()
		k, err := g.keeper(ctx, args[0], withStacks)
		if err == nil {
			err = do(ctx, k, args[1:])
		}
		return explained(err)
	}
}

// explained gives errors their exit codes.
func explained(err error) error {
	var waiting *rotate.WaitingError
	var failed *rotate.FailedError
	var unknown *rotate.UnknownError
	switch {
	case errors.As(err, &waiting):
		return ui.WithCode(ui.ExitWaiting, err)
	case errors.As(err, &failed):
		return ui.WithCode(ui.ExitRunFailed, err)
	case errors.As(err, &unknown):
		return ui.WithCode(ui.ExitNotFound, err)
	}
	return err
}

func (g *group) newInitCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "init ENV",
		Short: "Make the secrets of an environment that do not exist yet",
		Long: `Make the secrets of an environment that do not exist yet, and write its copies. An existing secret is never replaced, even if Yuba
did not make it. The command can be repeated: it makes what is missing. If a secret needs a rotation, for example because its generator changed, the
command says so and exits with code 1.`,
		Example: "  yuba secrets init staging\n  yuba secrets init staging -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete(false),
	}
	prune := cmd.Flags().Bool("prune", false, "remove secrets that are no longer declared, from the store and its copies")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = g.action(false, func(ctx context.Context, k *rotate.Keeper, _ []string) error {
		r, err := k.Init(ctx, *prune)
		return errors.Join(g.print(r, out), err)
	})
	return cmd
}

func (g *group) newRotateCommand() *cobra.Command {
	ask := rotate.Ask{}
	cmd := &cobra.Command{
		Use:   "rotate ENV [SECRET...]",
		Short: "Replace secrets in two steps, and run the stacks that read them",
		Long: `Replace secrets in two steps, and run the stacks that read them.

Step 1 makes new values current; the old ones stay valid as NAME_previous. The stacks that depend on the secrets run one after the
other, in the order of the file, then in that of their dependsOn. Step 2 removes the old values after the overlap, and the stacks run again.
If a stack fails in step 1, the old values become current again, and the stacks that ran run again. If one fails in step 2, both values
are valid again, and the command tries step 2 when it is called the next time.

Without a name, the command continues an unfinished rotation. An interrupted one is continued from its last step.

The exit code is 5 while both values are valid until the overlap ends, or while a stack waits, for an approval, a lock or another stack; it is 4 after a rollback, or if step 2 failed.`,
		Example: "  yuba secrets rotate staging database\n  yuba secrets rotate staging --due\n  yuba secrets rotate staging --now",
		Args:    ui.Arguments(1, -1), ValidArgsFunction: g.complete(true),
	}
	flags := cmd.Flags()
	flags.BoolVar(&ask.Due, "due", false, "rotate all secrets that need it")
	flags.BoolVar(&ask.All, "all", false, "rotate all secrets")
	flags.BoolVar(&ask.Now, "now", false, "do not wait for the overlap of old and new values to end")
	ui.AddTimeoutFlag(cmd, time.Hour, "maximum time to wait for stacks; the same command continues")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = g.action(true, func(ctx context.Context, k *rotate.Keeper, names []string) error {
		ask.Names = names
		r, err := k.Rotate(ctx, ask)
		return errors.Join(g.print(r, out), err)
	})
	return cmd
}

func (g *group) newShowCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ENV [PART]",
		Short: "Show the secrets of an environment and their age, without values",
		Long: `Show the secrets of an environment, how they are made, and how old they are. Values are not shown. With --reveal and the name of a
part, the command prints that one value to its output, and nothing else.`,
		Example: "  yuba secrets show staging\n  yuba secrets show staging database --reveal",
		Args:    ui.Arguments(1, 2), ValidArgsFunction: g.complete(true),
	}
	reveal := cmd.Flags().Bool("reveal", false, "print the value of the named part")
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = g.action(false, func(ctx context.Context, k *rotate.Keeper, args []string) error {
		switch {
		case *reveal && len(args) == 0:
			return ui.UsageErrorf(cmd, "name the part to reveal: yuba secrets show %s PART --reveal", k.Environment)
		case *reveal && out.Machine():
			return ui.UsageErrorf(cmd, "--reveal prints a value as it is; leave out -o")
		case *reveal:
			value, err := k.Reveal(ctx, args[0])
			if err != nil {
				return ui.WithCode(ui.ExitNotFound, err)
			}
			_, err = fmt.Fprintln(g.Out, value)
			return err
		case len(args) > 0:
			return ui.UsageErrorf(cmd, "values are only shown with --reveal")
		}
		r, err := k.Look(ctx)
		if err != nil {
			return err
		}
		return g.print(r, out)
	})
	return cmd
}

func (g *group) newCheckCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check ENV",
		Short: "Report secrets that are missing, old, expiring or changed",
		Long: `Report secrets that are missing, older than rotateEvery, expiring, or whose generator changed; copies that differ; and a rotation that is
not finished. The command changes nothing. The exit code is 1 if there is something to report.`,
		Example: "  yuba secrets check staging\n  yuba secrets check staging -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete(false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = g.action(false, func(ctx context.Context, k *rotate.Keeper, _ []string) error {
		r, err := k.Look(ctx)
		if err != nil {
			return err
		}
		findings := r.Findings()
		if out.Machine() {
			if findings == nil {
				findings = []string{}
			}
			err = out.Print(g.Out, struct {
				*rotate.Report
				Findings []string `json:"findings"`
			}{r, findings})
		} else {
			for _, text := range findings {
				fmt.Fprintln(g.Out, text)
			}
		}
		switch {
		case err != nil:
			return err
		case len(findings) == 1:
			return ui.Exitf(ui.ExitFailure, "check the secrets of %s: there is 1 finding", k.Environment)
		case len(findings) > 0:
			return ui.Exitf(ui.ExitFailure, "check the secrets of %s: there are %d findings", k.Environment, len(findings))
		}
		g.News("All %d secrets of %s are there and up to date.", len(r.Secrets), k.Environment)
		return nil
	})
	return cmd
}

func (g *group) newSyncCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "sync ENV",
		Short: "Write the values of an environment's store to its copies",
		Long: `Write the values of an environment's store to its copies. A copy that has a value of somebody else under the name of a secret is not
written. The command can be repeated: a copy that is equal is not written.`,
		Example: "  yuba secrets sync staging",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: g.complete(false),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = g.action(false, func(ctx context.Context, k *rotate.Keeper, _ []string) error {
		r, err := k.Sync(ctx)
		return errors.Join(g.print(r, out), err)
	})
	return cmd
}
