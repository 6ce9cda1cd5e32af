// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package modules

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/environments/library"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/web/docsite/diagram"
)

// NewCommand is "yuba modules".
func NewCommand(a *session.App) *cobra.Command {
	return ui.Group(&cobra.Command{
		Use: "modules", Aliases: []string{"module"}, SuggestFor: []string{"library", "terraform-docs", "tflint"},
		Short: "Check what the modules of a directory pass to each other, draw and document them",
		Long: `Check what the modules of a directory pass to each other, draw who calls whom, and write reference pages.
The commands read all modules below a directory. They need no server, no init and no network.`,
		Example: "  yuba modules check\n  yuba modules graph --root environments/staging\n  yuba modules docs --write docs/modules",
	}, newCheckCommand(a), newGraphCommand(a), newDocsCommand(a))
}

// directory is the argument of the commands.
func directory(args []string) string {
	if len(args) == 0 {
		return "."
	}
	return args[0]
}

// read reads the modules below a directory.
func read(dir string) (*library.Library, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("read the modules below %s: %w", dir, err)
	}
	defer root.Close()
	l, err := library.Read(root.FS())
	if err != nil {
		return nil, fmt.Errorf("read the modules below %s: %w", dir, err)
	}
	if len(l.Modules) == 0 {
		return nil, ui.Exitf(ui.ExitNotFound, "read the modules below %s: no directory has .tf or .tofu files. Name the directory of your modules:\n    yuba modules check DIR", dir)
	}
	return l, nil
}

// checked is the answer of the check for programs.
type checked struct {
	Modules  int               `json:"modules"`
	Roots    []string          `json:"roots"`
	Errors   int               `json:"errors"`
	Warnings int               `json:"warnings"`
	Findings []library.Finding `json:"findings"`
}

func newCheckCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Find arguments, outputs and providers that do not fit, before any init",
		Long: `Find where the modules below a directory do not fit: arguments that no variable takes, or that are missing or of another type; outputs
that are not there, also where try() hides that; provider configurations that are not passed; versions of providers that exclude
each other; modules that call each other. Modules of registries and repositories are not read.

Exit codes: 0: everything fits, or there are only warnings; 1: there are errors; 3: there are no modules.`,
		Example: "  yuba modules check\n  yuba modules check infrastructure -o json",
		Args:    ui.Arguments(0, 1),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		l, err := read(directory(args))
		if err != nil {
			return err
		}
		r := checked{Modules: len(l.Modules), Roots: l.Roots(), Findings: []library.Finding{}}
		for _, f := range l.Check() {
			r.Findings = append(r.Findings, f)
			if f.Severity == diagnostic.Error {
				r.Errors++
			} else {
				r.Warnings++
			}
		}
		if err := show(a.Console, out, r); err != nil {
			return err
		}
		if r.Errors > 0 {
			return ui.Exitf(ui.ExitFailure, "check %d modules: %s", r.Modules, count(r.Errors, "error"))
		}
		return nil
	}
	return cmd
}

// show prints the findings.
func show(c *ui.Console, out *ui.Output, r checked) error {
	if out.Machine() {
		return out.Print(c.Out, r)
	}
	for _, f := range r.Findings {
		if _, err := fmt.Fprintf(c.Out, "%s: %s: %s: %s (%s)\n", ui.OneLine(f.Place()), f.Severity, ui.OneLine(f.Subject), ui.OneLine(f.Message), f.Code); err != nil {
			return err
		}
	}
	text := fmt.Sprintf("%s, %s: ", count(r.Modules, "module"), count(len(r.Roots), "root"))
	if len(r.Findings) == 0 {
		text += "everything fits"
	} else {
		text += count(r.Errors, "error") + ", " + count(r.Warnings, "warning")
	}
	_, err := fmt.Fprintln(c.Out, text)
	return err
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

func newGraphCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "graph [DIR]",
		Short: "Draw which modules call which",
		Long: `Draw which modules call which: as text, in the language of Mermaid, which forges and editors draw, or as a picture.
Boxes with round ends are modules of registries and repositories.`,
		Example: "  yuba modules graph\n  yuba modules graph --root environments/staging -o mermaid\n  yuba modules graph -o svg > modules.svg",
		Args:    ui.Arguments(0, 1),
	}
	out := ui.AddOutputFlag(cmd, "mermaid", "svg", "json", "yaml")
	roots := cmd.Flags().StringArray("root", nil, "draw what this module calls, directly or not; can be repeated")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		dir := directory(args)
		l, err := read(dir)
		if err != nil {
			return err
		}
		var from []string
		for _, root := range *roots {
			at := path.Clean(filepath.ToSlash(root))
			if l.Modules[at] == nil {
				return ui.Exitf(ui.ExitNotFound, "draw the calls of %s: there is no module in %s below %s", root, root, dir)
			}
			from = append(from, at)
		}
		return draw(a.Console, out, l.Edges(from...))
	}
	return cmd
}

// draw prints edges in the form that was asked for.
func draw(c *ui.Console, out *ui.Output, edges []library.Edge) error {
	switch out.Form {
	case "mermaid":
		_, err := fmt.Fprint(c.Out, library.Mermaid(edges))
		return err
	case "svg":
		picture, err := diagram.SVG(library.Mermaid(edges))
		if err != nil {
			return fmt.Errorf("draw %d calls: %w. Draw fewer of them with --root", len(edges), err)
		}
		_, err = fmt.Fprintln(c.Out, picture)
		return err
	case "":
		for _, e := range edges {
			if _, err := fmt.Fprintf(c.Out, "%s -> %s (%s)\n", ui.OneLine(e.From), ui.OneLine(e.To), ui.OneLine(strings.Join(e.Calls, ", "))); err != nil {
				return err
			}
		}
		return nil
	}
	if edges == nil {
		edges = []library.Edge{}
	}
	return out.Print(c.Out, map[string]any{"items": edges})
}

func newDocsCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "docs [DIR]",
		Short: "Write reference pages of modules: variables, outputs, providers, calls",
		Long: `Write a reference page of each module below a directory, in Markdown: its variables, outputs, providers and calls, and who calls it.
Values of sensitive defaults are left out. Without --write, the pages are printed one after another. --check
writes nothing, and exits with 1 if a page is missing or out of date.`,
		Example: "  yuba modules docs modules\n  yuba modules docs modules --write docs/modules\n  yuba modules docs modules --write docs/modules --check",
		Args:    ui.Arguments(0, 1),
	}
	write := cmd.Flags().String("write", "", "directory to write the pages to, one file for each module")
	check := cmd.Flags().Bool("check", false, "with --write: compare, and write nothing")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		l, err := read(directory(args))
		if err != nil {
			return err
		}
		if *write == "" {
			for _, dir := range l.Dirs() {
				if _, err := fmt.Fprintln(a.Out, l.Page(dir)); err != nil {
					return err
				}
			}
			return nil
		}
		return writePages(a.Console, l, *write, *check)
	}
	return cmd
}

// writePages writes one page for each module, or compares them.
func writePages(c *ui.Console, l *library.Library, to string, check bool) error {
	var stale []string
	for _, dir := range l.Dirs() {
		name := filepath.Join(to, strings.ReplaceAll(strings.TrimPrefix(dir, "./"), "/", "-")+".md")
		if dir == "." {
			name = filepath.Join(to, "root.md")
		}
		page := []byte(l.Page(dir))
		have, err := os.ReadFile(name) //nolint:gosec // the user names the directory
		if err == nil && string(have) == string(page) {
			continue
		}
		stale = append(stale, name)
		if check {
			continue
		}
		if err := os.MkdirAll(to, 0o755); err != nil { //nolint:gosec // documentation
			return fmt.Errorf("write the pages: %w", err)
		}
		if err := os.WriteFile(name, page, 0o644); err != nil { //nolint:gosec // documentation
			return fmt.Errorf("write the page of %s: %w", dir, err)
		}
	}
	if check && len(stale) > 0 {
		return ui.Exitf(ui.ExitFailure, "compare the pages of %s: %s out of date: %s. Write them again without --check",
			count(len(l.Modules), "module"), count(len(stale), "page"), strings.Join(stale, ", "))
	}
	_, err := fmt.Fprintf(c.Out, "%s of %s written to %s\n", count(len(stale), "page"), count(len(l.Modules), "module"), to)
	return err
}
