// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package policies

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/listing"
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rules"
)

// shownRule is a built-in rule for programs.
type shownRule struct {
	Name       string           `json:"name"`
	Summary    string           `json:"summary"`
	Details    string           `json:"details"`
	Parameters []shownParameter `json:"parameters,omitempty"`
	Example    string           `json:"example,omitempty"`
	Stages     []facts.Stage    `json:"stages"`
	// Catches are ways around the rule that it finds, Misses those that it cannot find.
	Catches []string `json:"catches,omitempty"`
	Misses  []string `json:"misses,omitempty"`
}

type shownParameter struct {
	Name     string `json:"name"`
	Type     string `json:"type"`
	Required bool   `json:"required,omitempty"`
	Default  string `json:"default,omitempty"`
	Meaning  string `json:"meaning"`
}

func shown(r rules.Rule) shownRule {
	s := shownRule{Name: r.Name, Summary: r.Summary, Details: r.Details, Example: r.Example, Stages: r.Stages, Catches: r.Coverage().Catches, Misses: r.Coverage().Misses}
	for _, p := range r.Parameters {
		s.Parameters = append(s.Parameters, shownParameter{p.Name, string(p.Type), p.Required, p.Default, p.Meaning})
	}
	return s
}

func newRulesCommand(a *session.App) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rules [NAME]", Aliases: []string{"rule"},
		Short: "List the built-in rules, or describe one with its parameters",
		Long: `List the built-in rules of policies, or describe one: what it finds, its parameters, and an example. The command needs no server,
and describes the rules of this version of yuba.`,
		Example: "  yuba policy rules\n  yuba policy rules no-destroy\n  yuba policy rules -o json",
		Args:    ui.Arguments(0, 1), ValidArgsFunction: ruleNames,
	}
	out := ui.AddTableFlag(cmd, "json", "yaml", "name")
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if len(args) == 1 {
			return showRule(a.Console, out, args[0])
		}
		all := []shownRule{}
		l := &listing.List{Rows: [][]string{{"NAME", "WHAT A PLAN MUST KEEP"}}}
		for _, r := range rules.All() {
			all = append(all, shown(r))
			l.Add(r.Name, r.Name, r.Summary)
		}
		l.Answer = map[string]any{"items": all}
		return l.Show(a.Console, out)
	}
	return cmd
}

func ruleNames(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
	var found []cobra.Completion
	for _, r := range rules.All() {
		if len(args) == 0 {
			found = append(found, cobra.CompletionWithDesc(r.Name, r.Summary))
		}
	}
	return found, cobra.ShellCompDirectiveNoFileComp
}

func showRule(c *ui.Console, out *ui.Output, name string) error {
	r, known := rules.Lookup(name)
	if !known {
		near := slices.DeleteFunc(rules.Names(), func(n string) bool {
			return !strings.Contains(n, name) && !strings.Contains(name, strings.TrimPrefix(n, "no-"))
		})
		hint := ""
		if len(near) > 0 {
			hint = " Did you mean " + strings.Join(near, " or ") + "?"
		}
		return ui.Exitf(ui.ExitNotFound, "describe the rule %s: there is no such built-in rule.%s List them:\n    yuba policy rules", name, hint)
	}
	switch {
	case out.Form == "name":
		_, err := fmt.Fprintln(c.Out, r.Name)
		return err
	case out.Machine():
		return out.Print(c.Out, shown(r))
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n\n%s\n", r.Name, r.Summary, wrap(plain(r.Details), ""))
	if len(r.Parameters) > 0 {
		b.WriteString("\nParameters:\n")
		for _, p := range r.Parameters {
			fmt.Fprintf(&b, "  %s (%s)\n%s\n", p.Name, kindOf(p), wrap(plain(p.Meaning), "      "))
		}
	}
	for _, list := range []struct {
		title string
		items []string
	}{{"It also finds", r.Coverage().Catches}, {"It does not find", r.Coverage().Misses}} {
		b.WriteString("\n" + list.title + ":\n")
		for _, item := range list.items {
			b.WriteString("  - " + strings.TrimPrefix(wrap(plain(item), "    "), "    ") + "\n")
		}
	}
	b.WriteString("\nIn a policy:\n    rules:\n    - builtin: " + r.Name + "\n")
	if r.Example != "" {
		b.WriteString("      with:\n        " + strings.ReplaceAll(r.Example, "\n", "\n        ") + "\n")
	}
	_, err := fmt.Fprint(c.Out, b.String())
	return err
}

func kindOf(p rules.Parameter) string {
	text := string(p.Type)
	if p.Required {
		return text + ", required"
	}
	if d := cmp.Or(p.Default, ""); d != "" {
		text += ", by default " + plain(d)
	}
	return text
}

// plain is Markdown for terminals.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

// textWidth is the width of paragraphs.
const textWidth = 100

// wrap breaks paragraphs into lines.
func wrap(text, indent string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(text, "\n") {
		if i > 0 {
			b.WriteString("\n")
		}
		column := 0
		for _, word := range strings.Fields(paragraph) {
			switch {
			case column == 0:
				b.WriteString(indent)
				column = len(indent)
			case column+1+len(word) > textWidth:
				b.WriteString("\n" + indent)
				column = len(indent)
			default:
				b.WriteString(" ")
				column++
			}
			b.WriteString(word)
			column += len(word)
		}
	}
	return b.String()
}
