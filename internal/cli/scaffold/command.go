// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package scaffold

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/catalog"
	"github.com/yuba-dev/yuba/internal/environments/scaffold"
	"github.com/yuba-dev/yuba/internal/environments/targets"
)

// ownTemplates is where a library keeps templates of its own.
const ownTemplates = ".yuba/templates"

// kind is a subcommand.
type kind struct{ name, short, long, next string }

var kinds = []kind{
	{"module", "Write a module with a test", "Write modules/NAME: variables with a validation, outputs, versions, a test and a page.", "yuba env test modules/%s"},
	{"environment", "Write an environment, by name operated with \"yuba env\"", "Write environments/NAME: a root module with the providers and variables of a target (--target), and an example of its values.", "yuba env plan %s"},
	{"stack", "Write a stack: a program and its manifest", "Write stacks/NAME: a program, and the manifest of a stack that plans it from a GitRepository.", "yuba deploy stacks/%s --name %[1]s"},
	{"target", "Write a target of your own: what its domains share, and an environment", "Write modules/NAME-base, with the outputs provides and requirements, and environments/NAME, which calls it.", "yuba env plan %s"},
	{"contract", "Write a contract, and the simplest program that provides it", "Write contracts/NAME: the manifest of a Contract, and a program that provides a value of its type.", "yuba kubectl apply -f contracts/%s/contract.yaml"},
}

// NewCommand is "yuba new".
func NewCommand(a *session.App) *cobra.Command {
	var children []*cobra.Command
	for _, k := range kinds {
		children = append(children, newKindCommand(a, k))
	}
	return ui.Group(&cobra.Command{
		Use: "new", Aliases: []string{"scaffold"}, SuggestFor: []string{"generate", "init", "template"},
		Short: "Write the first files of a module, an environment, a stack, a target or a contract",
		Long: `Write the first files of a module, an environment, a stack, a target or a contract into a repository. They are formatted, valid, and
pass "yuba modules check". No file is replaced.

The templates are Yuba's, those in .yuba/templates of the repository, or those of --from: a directory or a git repository with a
directory for each kind. @NAME@ in paths and files is the name, @IDENTIFIER@ the name with underscores, @TARGET@ the target,
@VERSIONS@, @VARIABLES@ and @TFVARS@ are the target's providers, variables and an example of values.`,
		Example: "  yuba new module shop\n  yuba new environment staging --target fargate\n  yuba new module shop --from https://git.example.com/platform/templates.git",
	}, children...)
}

func newKindCommand(a *session.App, k kind) *cobra.Command {
	var from, library, target string
	cmd := &cobra.Command{
		Use: k.name + " NAME", Short: k.short, Long: k.long,
		Example: fmt.Sprintf("  yuba new %s shop\n  yuba new %s shop --from ../templates", k.name, k.name),
		Args:    ui.Arguments(1, 1), ValidArgsFunction: ui.NoNames,
	}
	flags := cmd.Flags()
	flags.StringVar(&from, "from", "", "a directory or a git repository with templates")
	flags.StringVar(&library, "library", "", "the root of the repository (default: as for \"yuba env\", else this directory)")
	flags.StringVar(&target, "target", "standalone", "the target whose providers and variables the files have")
	ui.Complete(cmd, "target", targets.Names()...)
	cmd.RunE = func(cmd *cobra.Command, args []string) (err error) {
		name := args[0]
		t, ok := targets.Named(target)
		if !ok {
			return ui.UsageErrorf(cmd, "--target %s: the targets are %s", target, strings.Join(targets.Names(), ", "))
		}
		if err := scaffold.CheckName(name); err != nil {
			return ui.UsageErrorf(cmd, "%w", err)
		}
		at, err := rootOf(library)
		if err != nil {
			return err
		}
		templates, end, err := open(cmd.Context(), from, at, k.name)
		if err != nil {
			return fmt.Errorf("read the templates: %w", err)
		}
		defer func() { err = errors.Join(err, end()) }()
		files, err := scaffold.Render(templates, k.name, scaffold.Values(name, t))
		if err != nil {
			return fmt.Errorf("fill the template of a new %s: %w", k.name, err)
		}
		root, err := os.OpenRoot(at)
		if err != nil {
			return fmt.Errorf("write the new %s: %w", k.name, err)
		}
		defer root.Close()
		if err := scaffold.Write(root, files); err != nil {
			return fmt.Errorf("write the new %s: %w", k.name, err)
		}
		for _, f := range files {
			fmt.Fprintln(a.Out, f.Path)
		}
		a.News("Next:\n    "+k.next, name)
		return nil
	}
	return cmd
}

// rootOf is the root of the library: this directory if it is in none.
func rootOf(library string) (string, error) {
	if library != "" {
		return filepath.Abs(library)
	}
	c, err := catalog.Find(".")
	var none *catalog.NoLibraryError
	switch {
	case errors.As(err, &none):
		return filepath.Abs(".")
	case err != nil:
		return "", err
	}
	return c.Root, nil
}

// cloneTimeout limits fetching templates.
const cloneTimeout = 2 * time.Minute

// open finds the templates: those that are named, the library's, or ours.
func open(ctx context.Context, from, root, kind string) (templates fs.FS, end func() error, err error) {
	nothing := func() error { return nil }
	if from == "" {
		library, err := os.OpenRoot(root)
		if err != nil {
			return nil, nil, err
		}
		defer library.Close()
		if _, err := library.Lstat(ownTemplates + "/" + kind); errors.Is(err, fs.ErrNotExist) {
			return scaffold.Own(), nothing, nil
		}
		own, err := library.OpenRoot(ownTemplates) // a link of the repository does not lead out of it
		if err != nil {
			return nil, nil, err
		}
		return own.FS(), own.Close, nil
	}
	if info, err := os.Stat(from); err == nil && info.IsDir() {
		return within(from, nothing)
	}
	if !strings.Contains(from, "://") && !strings.Contains(from, "@") {
		return nil, nil, fmt.Errorf("--from %s is neither a directory nor the address of a git repository", from)
	}
	dir, err := os.MkdirTemp("", "yuba-new-*")
	if err != nil {
		return nil, nil, err
	}
	remove := func() error { return os.RemoveAll(dir) }
	ctx, cancel := context.WithTimeout(ctx, cloneTimeout)
	defer cancel()
	clone := exec.CommandContext(ctx, "git", "-c", "core.hooksPath=/dev/null", "clone", "--quiet", "--depth=1", "--no-recurse-submodules", "--", from, filepath.Join(dir, "t")) //nolint:gosec // the person names the repository
	clone.WaitDelay = time.Second
	clone.Env = append(clone.Environ(), "GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=https:ssh:file:git:http")
	if out, err := clone.CombinedOutput(); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("fetch %s: %w: %s", from, err, ui.OneLine(strings.TrimSpace(string(out)))), remove())
	}
	return within(filepath.Join(dir, "t"), remove)
}

// within opens a directory so that links do not lead out of it.
func within(dir string, end func() error) (fs.FS, func() error, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, errors.Join(err, end())
	}
	return root.FS(), func() error { return errors.Join(root.Close(), end()) }, nil
}
