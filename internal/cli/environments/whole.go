// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package environments

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/catalog"
	"github.com/yuba-dev/yuba/internal/runs/attended"
)

func (g *group) newFmtCommand() *cobra.Command {
	var check bool
	cmd := &cobra.Command{
		Use: "fmt", Aliases: []string{"format"},
		Short: "Format all OpenTofu files of the repository",
		Long: `Format all OpenTofu files of the repository: modules, environments and tests. With --check nothing is written, the differences are
shown, and the exit code is 1 if there are any.`,
		Example: "  yuba env fmt\n  yuba env fmt --check",
		Args:    ui.Arguments(0, 0), ValidArgsFunction: ui.NoNames,
	}
	cmd.Flags().BoolVar(&check, "check", false, "write nothing, and fail if a file is not formatted")
	cmd.RunE = func(cmd *cobra.Command, _ []string) (err error) {
		c, err := g.catalog()
		if err != nil {
			return err
		}
		p, err := g.place(c.Root, catalog.Environment{Dir: "."}, inputs{})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, p.close()) }()
		args := []string{"fmt", "-recursive"}
		if check {
			args = append(args, "-check", "-diff")
		}
		if !g.Colors(g.Out) {
			args = append(args, "-no-color")
		}
		code, err := p.run(cmd.Context(), attended.Call{Args: args})
		switch {
		case err != nil:
			return err
		case code != 0 && check:
			return ui.Exitf(ui.ExitFailure, "check the format of %s: files are not formatted, or not valid. Format them with:\n    yuba env fmt", c.Root)
		case code != 0:
			return ui.Exitf(ui.ExitRunFailed, "format the files of %s: tofu fmt failed", c.Root)
		}
		return nil
	}
	return cmd
}

func (g *group) newTestCommand() *cobra.Command {
	var filters []string
	var verbose bool
	cmd := &cobra.Command{
		Use:   "test [DIR]...",
		Short: "Run the tests of modules and environments",
		Long: `Run the tests (*.tftest.hcl) of modules and environments, by default of all in the repository. Each directory is initialised without its
backend, outside of the repository. The exit code is 1 if a test failed, and 3 if there are none.`,
		Example: "  yuba env test\n  yuba env test modules/shop",
		Args:    ui.Arguments(0, -1), ValidArgsFunction: ui.Directories,
	}
	cmd.Flags().StringArrayVar(&filters, "filter", nil, "only run this file of tests; can be repeated")
	cmd.Flags().BoolVar(&verbose, "verbose", false, "show the plan or state of each test")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := g.catalog()
		if err != nil {
			return err
		}
		dirs, err := g.tested(c, args)
		if err != nil {
			return err
		}
		var more, failed []string
		for _, f := range filters {
			more = append(more, "-filter="+f)
		}
		if verbose {
			more = append(more, "-verbose")
		}
		for _, dir := range dirs {
			g.News("Testing %s.", dir)
			ok, err := g.test(cmd.Context(), c.Root, dir, more)
			if err != nil {
				return err
			}
			if !ok {
				failed = append(failed, dir)
			}
		}
		if len(failed) > 0 {
			return ui.Exitf(ui.ExitFailure, "test %d directories: %d failed: %s", len(dirs), len(failed), strings.Join(failed, ", "))
		}
		g.print("%d directories tested, 0 failed\n", len(dirs))
		return nil
	}
	return cmd
}

// tested are the directories with tests: those that are named, else all.
func (g *group) tested(c *catalog.Catalog, names []string) (dirs []string, err error) {
	p, err := g.place(c.Root, catalog.Environment{Dir: "."}, inputs{})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	err = fs.WalkDir(p.fsys, ".", func(name string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case e.IsDir() && name != "." && strings.HasPrefix(e.Name(), "."):
			return fs.SkipDir
		case !e.Type().IsRegular() || !strings.HasSuffix(name, ".tftest.hcl") && !strings.HasSuffix(name, ".tofutest.hcl"):
			return nil
		}
		dir := path.Dir(name)
		if path.Base(dir) == "tests" {
			dir = path.Dir(dir)
		}
		if len(names) == 0 || slices.ContainsFunc(names, func(n string) bool { return path.Clean(n) == dir }) {
			dirs = append(dirs, dir)
		}
		return nil
	})
	slices.Sort(dirs)
	dirs = slices.Compact(dirs)
	if err == nil && len(dirs) == 0 {
		err = ui.Exitf(ui.ExitNotFound, "test %s: there are no tests (*.tftest.hcl) %s", c.Root, strings.Join(names, " "))
	}
	return dirs, err
}

// test runs the tests of a directory.
func (g *group) test(ctx context.Context, root, dir string, more []string) (ok bool, err error) {
	p, err := g.place(root, catalog.Environment{Dir: dir}, inputs{})
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	undo := p.keepLockFile()
	defer func() { err = errors.Join(err, undo()) }()
	data := p.desk.Private("data")
	var said strings.Builder
	code, err := p.run(ctx, attended.Call{Args: []string{"init", "-backend=false", "-input=false", "-no-color"}, Installs: true, Data: data, Out: &said, Errors: &said})
	if err != nil {
		return false, err
	}
	if code != 0 {
		g.News("%s", said.String())
		return false, nil
	}
	args := append([]string{"test"}, more...)
	if !g.Colors(g.Out) {
		args = append(args, "-no-color")
	}
	code, err = p.run(ctx, attended.Call{Args: args, Data: data})
	return code == 0, err
}
