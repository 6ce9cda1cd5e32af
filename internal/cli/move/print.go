// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/steps"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

const verbWidth = 10

// printReport shows a plan, one namespace after the other.
func printReport(a *session.App, r steps.Report) {
	for _, problem := range r.Problems {
		fmt.Fprintf(a.Out, "%s%s\n", a.Paint(a.Out, ui.ColorRed, "! "), diagnostic.Printable(problem))
	}
	for _, item := range r.Items {
		if item.Kind == decide.DefinitionKind {
			printItem(a, item)
		}
	}
	for _, ns := range r.Namespaces {
		heading := ns.Name
		if ns.Create {
			heading += " (new at " + r.To.Name + ")"
		}
		switch ns.Step {
		case decide.StepContinue:
			heading += " (an interrupted move continues)"
		case decide.StepResume:
			heading += " (everything has arrived; it is resumed at " + r.To.Name + ")"
		}
		fmt.Fprintln(a.Out, a.Paint(a.Out, ui.ColorBold, heading))
		for _, item := range r.Items {
			if item.Namespace == ns.Name {
				printItem(a, item)
			}
		}
		printLeft(a, r.Left, ns.Name)
		fmt.Fprintln(a.Out)
	}
	if total := counts(r); total != "" {
		fmt.Fprintln(a.Out, total)
	}
	if !r.To.Yuba {
		fmt.Fprintf(a.Out, "Yuba does not run at %s: histories, versions of states and plans do not move.\n", r.To.Name)
	} else if !r.From.Yuba {
		fmt.Fprintf(a.Out, "Yuba does not run at %s: there are no histories, versions of states and plans to move.\n", r.From.Name)
	}
}

func printItem(a *session.App, item decide.Item) {
	mark := "  "
	if item.Verb == decide.VerbConflict || item.Verb == decide.VerbBlocked {
		mark = a.Paint(a.Out, ui.ColorRed, "! ")
	}
	line := fmt.Sprintf("%s%-*s%s %s", mark, verbWidth, item.Verb, item.Kind, item.Name)
	if item.Why != "" {
		line += ": " + item.Why
	}
	fmt.Fprintln(a.Out, diagnostic.Printable(line))
	for _, note := range item.Notes {
		fmt.Fprintf(a.Out, "  %-*s%s\n", verbWidth, "", diagnostic.Printable("note: "+note))
	}
}

// printLeft lists what does not move because of its kind.
func printLeft(a *session.App, left []steps.Left, namespace string) {
	var words []string
	for _, l := range left {
		switch {
		case l.Namespace != namespace:
		case l.Why != "":
			words = append(words, l.Kind+" (unknown: "+l.Why+")")
		default:
			words = append(words, fmt.Sprintf("%d %s", l.Count, l.Kind))
		}
	}
	if len(words) > 0 {
		fmt.Fprintf(a.Out, "  %-*s%s: these kinds do not move\n", verbWidth, "stay", diagnostic.Printable(strings.Join(words, ", ")))
	}
}

func counts(r steps.Report) string {
	var words []string
	for _, verb := range []decide.Verb{decide.VerbCreate, decide.VerbUpdate, decide.VerbKeep, decide.VerbArrived, decide.VerbSkip, decide.VerbConflict, decide.VerbBlocked} {
		if n := r.Count(verb); n > 0 {
			words = append(words, fmt.Sprintf("%d %s", n, verbWords[verb]))
		}
	}
	if len(words) == 0 && len(r.Problems) > 0 {
		return ""
	}
	if len(words) == 0 {
		return "Nothing to move."
	}
	return fmt.Sprintf("From %s to %s: %s.", r.From.Name, r.To.Name, strings.Join(words, ", "))
}

var verbWords = map[decide.Verb]string{
	decide.VerbCreate: "to create", decide.VerbUpdate: "to update", decide.VerbKeep: "equal already", decide.VerbArrived: "moved already",
	decide.VerbSkip: "not moved", decide.VerbConflict: "in conflict", decide.VerbBlocked: "blocked",
}

// printSummary shows what became of the stacks.
func printSummary(a *session.App, s steps.Summary) {
	for _, stack := range s.Stacks {
		mark := "  "
		if stack.Pass == steps.PassAttention {
			mark = a.Paint(a.Out, ui.ColorRed, "! ")
		}
		line := fmt.Sprintf("%s%s/%s: %s", mark, stack.Namespace, stack.Name, stack.Pass)
		if stack.Message != "" {
			line += ": " + ui.FirstLine(stack.Message, maxMessage)
		}
		if stack.Runs+stack.Versions > 0 {
			line += fmt.Sprintf(" (%s, %s of its state)", ui.Count(stack.Runs, "run"), ui.Count(stack.Versions, "version"))
		}
		fmt.Fprintln(a.Out, diagnostic.Printable(line))
	}
	moved := s.Counts[decide.VerbCreate] + s.Counts[decide.VerbUpdate]
	if moved+len(s.Stacks) == 0 {
		a.News("Nothing to move: everything is at %s.", s.To.Name)
		return
	}
	a.News("Moved %s from %s to %s. The copies at %s are suspended; deleting them keeps all resources.", ui.Count(moved, "object"), s.From.Name, s.To.Name, s.From.Name)
}

const maxMessage = 120
