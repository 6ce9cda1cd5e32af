// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
)

// listed is a list that the server has answered with, in all the forms that it is shown in.
type listed struct {
	// answer is for programs, names for -o name, rows are for people: the heads first.
	answer any
	names  []string
	rows   [][]string
	// none is said when there is nothing, sum below what there is.
	none, sum string
}

// listing makes a command of one that asks the server for a list of its own, which is no list of objects.
func (a *app) listing(cmd *cobra.Command, ask func(ctx context.Context, s *session) (*listed, error)) *cobra.Command {
	cmd.Args, cmd.ValidArgsFunction = arguments(0, 0), noNames
	out := addTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.inSession(out, func(cmd *cobra.Command, s *session, _ []string) error {
		l, err := ask(cmd.Context(), s)
		if err != nil {
			return err
		}
		return l.show(s, out)
	})
	return cmd
}

func (l *listed) show(s *session, out *output) error {
	switch {
	case out.form == "name":
		for _, name := range l.names {
			fmt.Fprintln(s.out, name)
		}
		return nil
	case out.machine():
		return out.print(s.out, l.answer)
	case len(l.rows) <= 1:
		fmt.Fprintln(s.err, l.none)
		return nil
	}
	if err := s.table(l.rows, out); err != nil {
		return err
	}
	if l.sum != "" {
		fmt.Fprintln(s.err, l.sum)
	}
	return nil
}
