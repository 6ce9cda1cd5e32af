// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/verbs"
)

// NewWhyCommand is "yuba why".
func NewWhyCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "why NAME",
		Short: "Explain what Yuba does with a stack, and which input changed",
		Long: `Explain what Yuba does with a stack and why: the current decision, what it waits for and until when; the trigger of the last
run; which inputs changed since the last plan, from what to what; and what must not change for the stack to count as
unchanged. Of secrets, the command only shows that they changed.

The server decides again from the current facts. The command changes nothing.`,
		Example: "  yuba why vpc\n  yuba why team-a/vpc -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.StackNames(false),
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml")
	cmd.RunE = a.OnName(func(ctx context.Context, s *session.Session, key types.NamespacedName, _ []string) error {
		why, err := s.Content.Why(ctx, key.Namespace, key.Name)
		if err != nil {
			return s.StackError("explain", key, err)
		}
		if out.Machine() {
			return out.Print(s.Out, why)
		}
		showWhy(s.Out, &why, time.Now())
		return nil
	})
	return cmd
}

type whyView struct{ ui.Labels }

func showWhy(w io.Writer, why *run.Why, now time.Time) {
	v := &whyView{ui.Labels{Writer: w, Now: now}}
	v.Line("Stack", "%s/%s", why.Namespace, why.Name)
	v.decision(why)
	v.planned(why)
	v.last(why)
	v.proof(why.Proof)
	for _, note := range why.Notes {
		v.Line("Note", "%s", note)
	}
}

func (v *whyView) decision(why *run.Why) {
	d := &why.Decision
	v.Line("Now", "%s (%s)", verbs.InWords(d.Verb), strings.Trim(d.Reason+" "+d.Subject, " "))
	v.Line("", "%s", d.Message)
	v.Line("", "%s", d.Detail)
	if l := why.Looked; l != nil {
		v.Line("", "unchanged for %s, last reconciled %s ago", ui.Age(v.Now, l.Since), ui.Age(v.Now, l.At))
	}
	if q := why.Queue; q != nil {
		v.Line("Queue", "place %d; see `yuba queue`", q.Place)
		v.Line("", "%s", q.Waits)
	}
	switch {
	case d.NextLook == nil:
		v.Line("Next check", "when something changes")
	case !d.NextLook.After(v.Now):
		v.Line("Next check", "now")
	default:
		v.Line("Next check", "%s, in %s, or when something changes", d.NextLook.Local().Format("2006-01-02 15:04:05"), ui.Age(*d.NextLook, v.Now))
	}
}

func (v *whyView) planned(why *run.Why) {
	p := why.Planned
	if p == nil {
		v.Line("Planned", "never")
		return
	}
	v.Line("Planned", "%s: %s%s", p.ID, cmp.Or(p.Plan, "no plan"), v.Ago(p.Finished))
	switch {
	case len(why.Changes) > 0:
		v.changes("then", why.Changes)
	case why.Proof != nil && why.Proof.Unchanged:
		v.Line("", "no input changed since then")
	}
}

func (v *whyView) last(why *run.Why) {
	r := why.LastRun
	if r == nil {
		return
	}
	v.Line("Last run", "%s (%s) %s%s", r.ID, r.Operation, cmp.Or(string(r.Outcome), "in progress"), v.Ago(r.Finished))
	because := r.Trigger
	if r.By != "" {
		because += ", requested by " + r.By
	}
	if r.Passes > 1 {
		because += fmt.Sprintf(" (%d times in a row)", r.Passes)
	}
	v.Line("", "why: %s", because)
	if len(r.Changes) > 0 {
		v.changes(r.Before, r.Changes)
	}
}

func (v *whyView) changes(since string, list []run.InputChange) {
	v.Line("", "inputs changed since %s:", since)
	for i := range list {
		c := &list[i]
		v.Line("", "  %s", diagnostic.Printable(c.InWords()))
		for _, f := range c.Files {
			v.Line("", "    %s %s", f.Change, f.Name)
		}
		if c.MoreFiles > 0 {
			v.Line("", "    and %d more files", c.MoreFiles)
		}
	}
}

func (v *whyView) proof(p *run.Proof) {
	if p == nil {
		return
	}
	if len(p.Dirs) > 0 {
		v.Line("Reads", "%s", strings.Join(p.Dirs, "\n"))
	} else {
		v.Line("Reads", "its whole source: %s", p.Whole)
	}
	v.Line("World", "%s", p.World)
	if p.Drift == "" {
		v.Line("Drift", "not checked")
	} else {
		v.Line("Drift", "checked every %s", p.Drift)
	}
}
