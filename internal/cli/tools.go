// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/run"
)

func newToolsCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "tools",
		Short: "List the versions of tofu and terraform that runs can use",
		Long: `List the versions of tofu and terraform that runs can use, where they are, and what of it cannot be used. A stack asks for
one with spec.tool; the newest that fits is taken. Other versions are put side by side into the server's directory of
tools (DATA-DIR/tools, or what --tools names), as tofu-1.9.1 or tofu/1.9.1/tofu.`,
		Example: "  yuba tools\n  yuba tools -o json",
		Args:    arguments(0, 0), ValidArgsFunction: noNames,
	}
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := out.check(cmd); err != nil {
			return err
		}
		s, err := a.connect()
		if err != nil {
			return err
		}
		info, err := s.content.Server(cmd.Context())
		if err != nil {
			return fmt.Errorf("ask the server for its tools: %w", err)
		}
		return s.showTools(info.Tools, out)
	}
	return cmd
}

func (s *session) showTools(tools []run.InstalledTool, out *output) error {
	switch {
	case out.form == "name":
		for _, t := range tools {
			if t.Problem == "" {
				fmt.Fprintln(s.out, t.Name+"-"+t.Version)
			}
		}
		return nil
	case out.machine():
		return out.print(s.out, struct {
			Items []run.InstalledTool `json:"items"`
		}{tools})
	}
	rows := [][]string{{"TOOL", "VERSION", "RUNNER", "PATH", "NOTE"}}
	for _, t := range tools {
		note := t.Problem
		if note == "" && t.Default {
			note = "the default"
		}
		rows = append(rows, []string{t.Name, t.Version, t.Runner, t.Path, note})
	}
	return table(s.out, rows)
}
