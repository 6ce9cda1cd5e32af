// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/inspect"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// readmeLines is the number of lines of a README that are shown.
const readmeLines = 20

// newShowCommand is "yuba registry show".
func newShowCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show NAMESPACE/NAME/SYSTEM[@VERSION]",
		Short: "Show the inputs, outputs and README of a module",
		Long: `Show a version of a module: who published it, its notice, inputs, outputs, required providers, submodules and examples, and the
beginning of its README. Without a version, the command shows the newest that is neither a pre-release nor deprecated or
revoked. -o json has everything.`,
		Example: "  yuba registry show acme/vpc/aws\n  yuba registry show acme/vpc/aws@1.2.0 -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: releaseNames(a),
	}
	out := ui.AddTableFlag(cmd, "json", "yaml")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, args []string) error {
		release, err := find(cmd, s, args[0])
		switch {
		case err != nil:
			return err
		case out.Machine():
			return out.Print(s.Out, release)
		}
		return showRelease(cmd.Context(), s, release, out)
	})
	return cmd
}

// find reads the release that an argument names.
func find(cmd *cobra.Command, s *session.Session, argument string) (catalog.Release, error) {
	name, _, versioned := strings.Cut(argument, "@")
	m, err := layout.ParseModule(name)
	v := layout.ModuleVersion{Module: m}
	if versioned {
		v, err = layout.ParseModuleVersion(argument)
	}
	if err != nil {
		return catalog.Release{}, ui.UsageErrorf(cmd, "%w", err)
	}
	if !versioned {
		list, err := s.Content.ModuleReleases(cmd.Context(), m)
		if err != nil {
			return catalog.Release{}, explained(err, "show "+m.String())
		}
		v.Version = catalog.Latest(list.Items).Version
	}
	release, err := s.Content.ModuleRelease(cmd.Context(), v)
	if err != nil {
		return release, explained(err, "show "+v.String())
	}
	return release, nil
}

func showRelease(ctx context.Context, s *session.Session, r catalog.Release, out *ui.Output) error {
	line := func(name, format string, args ...any) {
		fmt.Fprintf(s.Out, "%-11s %s\n", name, diagnostic.Printable(fmt.Sprintf(format, args...)))
	}
	line("Module", "%s", r.Module)
	line("Version", "%s", r.Version)
	if info, err := s.Content.Registry(ctx); err == nil && info.Host != "" {
		line("Source", "%s/%s", info.Host, r.Module)
	}
	by := ""
	if r.By != "" {
		by = " by " + r.By
	}
	line("Published", "%s ago%s", ui.Age(time.Now(), r.Published), by)
	if r.From != nil {
		line("From", "%s %s", r.From.Repository, strings.TrimSpace(r.From.Tag+" "+r.From.Commit))
	}
	line("Archive", "%s, %s", ui.Size(r.Size), r.Digest)
	if n := r.Notice; n != nil {
		line(strings.ToUpper(string(n.Kind[:1]))+string(n.Kind[1:]), "%s ago by %s: %s", ui.Age(time.Now(), n.At), n.By, n.Reason)
	}
	if r.Problem != "" {
		line("Unusable", "%s", r.Problem)
	}
	if r.Interface == nil {
		return nil
	}
	return showInterface(s, r.Interface, out)
}

func showInterface(s *session.Session, m *inspect.Module, out *ui.Output) error {
	names := func(title string, parts []inspect.Part) {
		if len(parts) == 0 {
			return
		}
		var paths []string
		for _, p := range parts {
			paths = append(paths, p.Path)
		}
		fmt.Fprintf(s.Out, "%-11s %s\n", title, diagnostic.Printable(strings.Join(paths, ", ")))
	}
	if len(m.Tool) > 0 {
		fmt.Fprintf(s.Out, "%-11s %s\n", "Tofu", diagnostic.Printable(strings.Join(m.Tool, ", ")))
	}
	for i, p := range m.Providers {
		title := ""
		if i == 0 {
			title = "Providers"
		}
		fmt.Fprintf(s.Out, "%-11s %s\n", title, diagnostic.Printable(strings.TrimSpace(p.Source+" "+strings.Join(p.Versions, ", "))))
	}
	names("Submodules", m.Submodules)
	names("Examples", m.Examples)
	for _, warning := range m.Warnings {
		fmt.Fprintf(s.Out, "%-11s %s\n", "Warning", diagnostic.Printable(warning))
	}
	if err := showInputs(s, m, out); err != nil {
		return err
	}
	if len(m.Outputs) > 0 {
		rows := [][]string{{"OUTPUT", "DESCRIPTION"}}
		for _, o := range m.Outputs {
			rows = append(rows, []string{o.Name, cell(o.Description, 60, out)})
		}
		fmt.Fprintln(s.Out)
		if err := s.Table(rows, out); err != nil {
			return err
		}
	}
	if m.Readme == "" {
		return nil
	}
	lines := strings.Split(strings.TrimSpace(m.Readme), "\n")
	fmt.Fprintln(s.Out)
	for _, text := range lines[:min(len(lines), readmeLines)] {
		fmt.Fprintln(s.Out, strings.TrimRight(diagnostic.Printable(text), " \r"))
	}
	if more := len(lines) - readmeLines; more > 0 {
		s.News("… and %s; -o json has the whole README.", ui.Count(more, "more line"))
	}
	return nil
}

func showInputs(s *session.Session, m *inspect.Module, out *ui.Output) error {
	if len(m.Inputs) == 0 {
		return nil
	}
	rows := [][]string{{"INPUT", "TYPE", "DEFAULT", "DESCRIPTION"}}
	for _, in := range m.Inputs {
		value := string(in.Default)
		switch {
		case !in.Optional:
			value = "(required)"
		case in.Sensitive:
			value = ui.HiddenValue
		case value == "":
			value = "…"
		}
		kind := strings.Join(strings.Fields(in.Type), " ")
		if kind == "" {
			kind = "any"
		}
		rows = append(rows, []string{in.Name, cell(kind, 30, out), cell(value, 24, out), cell(in.Description, 60, out)})
	}
	fmt.Fprintln(s.Out)
	return s.Table(rows, out)
}

// cell cuts a text, except for -o wide.
func cell(text string, width int, out *ui.Output) string {
	if out.Wide() {
		return text
	}
	return ui.FirstLine(text, width)
}
