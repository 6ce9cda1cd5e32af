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

// List is an answer of the server in all forms of -o.
type List struct {
	// Answer is for programs, Names are for -o name, Rows for people: the heads first.
	Answer any
	Names  []string
	Rows   [][]string
	// Wide are the columns that only -o wide shows.
	Wide []string
	// None is printed for an empty list, Sum below the others.
	None, Sum string
}

// ServerCommand makes cmd show a list that the server returns and that is not a list of objects.
func ServerCommand(a *session.App, cmd *cobra.Command, ask func(ctx context.Context, s *session.Session) (*List, error)) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = ui.Arguments(0, 0), ui.NoNames
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.InSession(func(cmd *cobra.Command, s *session.Session, _ []string) error {
		l, err := ask(cmd.Context(), s)
		if err != nil {
			return err
		}
		return l.Show(s.Console, out)
	})
	return cmd
}

// Add adds an item: its name, and its row.
func (l *List) Add(name string, row ...string) {
	l.Names, l.Rows = append(l.Names, name), append(l.Rows, row)
}

// Show writes the list in the form of -o.
func (l *List) Show(c *ui.Console, out *ui.Output) error {
	switch {
	case out.Form == "name":
		for _, name := range l.Names {
			fmt.Fprintln(c.Out, name)
		}
		return nil
	case out.Machine():
		return out.Print(c.Out, l.Answer)
	case len(l.Rows) <= 1:
		c.News("%s", l.None)
		return nil
	}
	if err := c.Table(l.Rows, out, l.Wide...); err != nil {
		return err
	}
	if l.Sum != "" {
		c.News("%s", l.Sum)
	}
	return nil
}
