// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package listing

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// List is a list that the server has answered with, in all the forms that it is shown in.
type List struct {
	// Answer is for programs, names for -o name, rows are for people: the heads first.
	Answer any
	Names  []string
	Rows   [][]string
	// None is said when there is nothing, sum below what there is.
	None, Sum string
}

// ServerCommand makes a command of one that asks the server for a list of its own, which is no list of objects.
func ServerCommand(a *session.App, cmd *cobra.Command, ask func(ctx context.Context, s *session.Session) (*List, error)) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(0, 0), ui.NoNames
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(out, func(cmd *cobra.Command, s *session.Session, _ []string) error {
		l, err := ask(cmd.Context(), s)
		if err != nil {
			return err
		}
		return l.Show(s, out)
	})
	return cmd
}

// Show writes the list in the form that -o asks for.
func (l *List) Show(s *session.Session, out *ui.Output) error {
	switch {
	case out.Form == "name":
		for _, name := range l.Names {
			fmt.Fprintln(s.Out, name)
		}
		return nil
	case out.Machine():
		return out.Print(s.Out, l.Answer)
	case len(l.Rows) <= 1:
		fmt.Fprintln(s.Err, l.None)
		return nil
	}
	if err := s.Table(l.Rows, out); err != nil {
		return err
	}
	if l.Sum != "" {
		fmt.Fprintln(s.Err, l.Sum)
	}
	return nil
}
