// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/content"
)

func newQueueCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "queue",
		Short: "List the runs at work and those that wait, in the order in which they begin",
		Long: `List the runs at work and those that wait, in the order in which they begin if nothing else comes.

What somebody waits for begins first: what a person asked for or approved, and the end of stacks that are deleted. What an
input changed comes next, looks for drift come last. Among equals namespaces take turns, by what their runs took so far, and
what has waited for long moves up. While runs are short, the next ones are prepared beside those at work, and listed with
them. How many runs are at work at a time is for "yuba up --concurrency" to say, and how many
of one namespace for --namespace-concurrency.`,
		Example: "  yuba queue\n  yuba queue -o json",
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
		q, err := s.content.Queue(cmd.Context())
		if err != nil {
			return fmt.Errorf("ask the server for its queue: %w", err)
		}
		return s.showQueue(q, out, time.Now())
	}
	return cmd
}

func (s *session) showQueue(q content.Queue, out *output, now time.Time) error {
	switch {
	case out.form == "name":
		for _, e := range q.Items {
			fmt.Fprintln(s.out, e.Namespace+"/"+e.Name)
		}
		return nil
	case out.machine():
		return out.print(s.out, q)
	case len(q.Items) == 0:
		fmt.Fprintln(s.err, "Nothing is at work and nothing waits.")
		return nil
	}
	rows := [][]string{{"PLACE", "STACK", "RUN", "FOR", "AGE", "WHY"}}
	for _, e := range q.Items {
		place, since := strconv.Itoa(e.Place), e.Since
		if e.Place == 0 {
			place = "at work"
			if e.Started != nil {
				since = *e.Started
			}
		}
		why := e.Trigger
		if e.Waits != "" {
			why += "; " + e.Waits
		}
		rows = append(rows, []string{place, e.Namespace + "/" + e.Name, e.Operation, e.Urgency, age(now, since), why})
	}
	return table(s.out, rows)
}
