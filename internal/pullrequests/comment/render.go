// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package comment

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// cut is how much of a comment is kept.
type cut struct {
	// risky and harmless limit the text of each group's changes, in bytes.
	risky, harmless int
	// messages limits findings and problems of a group, detail the bytes of each.
	messages, detail int
	// rows limits groups, names the stacks that are named in each, consequences those behind, and follows
	// the text of each of their plans.
	rows, names, consequences, follows int
}

// cuts are tried in this order.
var cuts = []cut{
	{50000, 50000, 50, 2000, 500, 50, 100, 20000},
	{50000, 50000, 50, 2000, 500, 50, 100, 2000},
	{50000, 50000, 50, 2000, 500, 50, 100, 0},
	{20000, 2000, 50, 2000, 500, 50, 100, 0},
	{20000, 0, 50, 2000, 500, 50, 100, 0},
	{4000, 0, 20, 1000, 500, 50, 50, 0},
	{1000, 0, 10, 500, 200, 20, 50, 0},
	{0, 0, 10, 300, 200, 20, 20, 0},
	{0, 0, 3, 200, 100, 10, 10, 0},
	{0, 0, 1, 200, 50, 5, 5, 0},
	{0, 0, 0, 0, 20, 3, 3, 0},
	{0, 0, 0, 0, 5, 2, 0, 0},
	{0, 0, 0, 0, 0, 0, 0, 0},
}

// Render writes a report's comment.
func Render(r Report, s Style) string {
	text, _ := RenderWhole(r, s)
	return text
}

// RenderWhole does what [Render] does, and reports whether the comment leaves nothing out.
func RenderWhole(r Report, s Style) (text string, whole bool) {
	s.Limit = max(s.Limit, smallest)
	folded := groups(r.Stacks)
	for i, c := range cuts {
		w := writer{report: r, style: s, cut: c}
		if text := w.comment(folded); len(text) <= s.Limit || i == len(cuts)-1 {
			return text, w.whole() && len(text) <= s.Limit
		}
	}
	return "", false
}

// writer writes a comment with one cut.
type writer struct {
	report Report
	style  Style
	cut    cut
	out    strings.Builder
	// changes, messages, rows and names count what is left out, behind what of the stacks behind.
	changes, messages, rows, names, behind int
}

// whole reports whether nothing that can be approved is left out so far.
func (w *writer) whole() bool { return w.changes+w.messages+w.rows+w.names == 0 }

func (w *writer) line(parts ...string) { w.out.WriteString(strings.Join(parts, "") + "\n") }

func (w *writer) comment(folded []group) string {
	r := w.report
	w.out.WriteString(hidden(r.mark(), w.style))
	title := "### Yuba"
	if r.Environment != "" {
		title += " " + code(r.Environment, 100)
	}
	w.line(title, "\n\n**", headline(r), "**\n")
	w.problems(r.Problems)
	if n := len(r.NoStatus); n > 0 && w.cut.names > 0 {
		var names []string
		for _, name := range r.NoStatus[:min(n, w.cut.names)] {
			names = append(names, code(name, 100))
		}
		if n > len(names) {
			names = append(names, fmt.Sprintf("and %d more", n-len(names)))
		}
		w.line("These environments have no status of their own, because there are too many, or because of the name: ", strings.Join(names, ", "), "\n")
	}
	w.table(folded)
	for i, g := range folded {
		if w.out.Len() > w.style.Limit {
			return w.out.String() // it does not fit anyhow
		}
		if i < w.cut.rows {
			w.details(g)
		}
	}
	w.consequencesOf(r.Consequences)
	w.rest()
	return w.out.String()
}

// table has a row for each group.
func (w *writer) table(folded []group) {
	if len(folded) == 0 || w.cut.rows == 0 {
		w.rows += len(folded)
		return
	}
	w.line("| | stack | plan |\n|---|---|---|")
	for i, g := range folded {
		if i >= w.cut.rows {
			w.rows += len(folded) - i
			break
		}
		w.line("| ", signs[riskOf(g.Stack)], " | ", w.named(g), " | ", g.result(), " |")
	}
	w.line("")
}

// named are the names of a group's stacks, with links.
func (w *writer) named(g group) string {
	var parts []string
	for i, name := range g.names {
		if i >= w.cut.names {
			w.names += len(g.names) - i
			parts = append(parts, "and "+strconv.Itoa(len(g.names)-i)+" more")
			break
		}
		shown := cell(name, 150)
		if linked := link(shown, g.links[i]); linked != "" {
			shown = linked
		}
		parts = append(parts, shown)
	}
	return strings.Join(parts, ", ")
}

// title is the first name of a group, and the number of the others.
func (g group) title(show func(string, int) string) string {
	title := show(g.names[0], 150)
	if len(g.names) > 1 {
		title += " and " + plural(len(g.names)-1, "other")
	}
	return title
}

// details are a group's findings and changes, folded unless somebody must read them.
func (w *writer) details(g group) {
	inner := writer{report: w.report, style: w.style, cut: w.cut}
	inner.owners(g.Owners)
	inner.problems(g.Problems)
	inner.verdicts(g.Verdicts)
	inner.fields(g.Fields)
	inner.changesOf(g)
	w.changes, w.messages = w.changes+inner.changes, w.messages+inner.messages
	text := strings.TrimRight(inner.out.String(), "\n") + "\n"
	if text == "\n" {
		return
	}
	if !w.style.Details {
		w.line("#### ", g.title(code), "\n\n", text)
		return
	}
	open := ""
	if riskOf(g.Stack) >= refused {
		open = " open"
	}
	w.line("<details", open, "><summary>", g.title(htmlCode), "</summary>\n\n", text, "\n</details>\n")
}

func (w *writer) problems(problems []Problem) {
	for i, p := range problems {
		if i >= w.cut.messages {
			w.messages += len(problems) - i
			return
		}
		at := ""
		if p.Path != "" {
			at = " in " + code(p.Path+lineOf(p.Line), 300)
		}
		w.line("❌ ", code(p.Summary, 300), at, "\n")
		if detail := cutBytes(p.Detail, w.cut.detail); strings.TrimSpace(detail) != "" {
			w.line(block("", detail))
		}
	}
}

// owners are those who are asked. Nobody is mentioned: the forge does that.
func (w *writer) owners(groups [][]string) {
	var all []string
	for i, group := range groups {
		if i >= w.cut.messages {
			w.messages += len(groups) - i
			break
		}
		var one []string
		for _, owner := range group {
			one = append(one, code(owner, 100))
		}
		all = append(all, strings.Join(one, " or "))
	}
	if len(all) > 0 {
		w.line("Owners: ", strings.Join(all, "; "), "\n")
	}
}

func lineOf(line int) string {
	if line <= 0 {
		return ""
	}
	return ":" + strconv.Itoa(line)
}

func (w *writer) verdicts(verdicts []Verdict) {
	for _, refuses := range []bool{true, false} {
		shown, all := 0, 0
		for _, v := range verdicts {
			if v.Refuses != refuses {
				continue
			}
			if all++; shown >= w.cut.messages {
				continue
			}
			shown++
			sign := map[bool]string{true: "⛔ refused by ", false: "⚠️ warning of "}[refuses]
			w.line(sign, code(v.Policy, 150), ": ", code(v.Message, w.cut.detail), "\n")
		}
		w.messages += all - shown
	}
}

func (w *writer) fields(fields []Field) {
	if len(fields) == 0 {
		return
	}
	var text strings.Builder
	for i, f := range fields {
		if i >= w.cut.messages {
			w.messages += len(fields) - i
			break
		}
		path := oneLine(f.Path)
		if f.Before != "" {
			fmt.Fprintf(&text, "- %s: %s\n", path, cutBytes(oneLine(f.Before), 200))
		}
		if f.After != "" {
			fmt.Fprintf(&text, "+ %s: %s\n", path, cutBytes(oneLine(f.After), 200))
		}
	}
	if text.Len() > 0 {
		w.line("Manifest:\n\n", block("diff", text.String()))
	}
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// changesOf is the text of a group's plan.
func (w *writer) changesOf(g group) {
	if strings.TrimSpace(g.Changes) == "" {
		return
	}
	most := w.cut.harmless
	if riskOf(g.Stack) >= warned {
		most = w.cut.risky
	}
	text := g.Changes
	if len(text) > most {
		w.changes++
		// Whole lines only: half a line could say the opposite.
		text = text[:most]
		text = text[:strings.LastIndexByte(text, '\n')+1]
		if text == "" {
			return
		}
		text += "…\n"
	}
	w.line(block("diff", colored(text)))
}

// action matches the sign of a line of tofu's plans.
var action = regexp.MustCompile(`(?m)^( +)(-/\+|\+/-|[-+~])( |$)`)

// colored moves signs to the beginning of lines, where forges look for them to colour the line. Theirs for a change is an
// exclamation mark.
func colored(text string) string {
	return action.ReplaceAllStringFunc(text, func(found string) string {
		match := action.FindStringSubmatch(found)
		sign := match[2]
		if sign == "~" {
			sign = "!"
		}
		return sign + match[1] + match[3]
	})
}

// rest says what is left out, and where all of it is.
func (w *writer) rest() {
	left := list(omitted(w.rows, "row"), omitted(w.changes, "text of changes"), omitted(w.messages, "message"), omitted(w.names, "name"), omitted(w.behind, "detail of the stacks behind"))
	all := link("Details", w.report.Link)
	if left != "" {
		w.line("This comment leaves out ", left, ", because its size is limited.\n")
	}
	if w.report.Approve && w.whole() {
		plans := ""
		if w.report.Plans != "" {
			plans = " --plans " + w.report.Plans
		}
		w.line("To approve these plans, comment ", code("/yuba approve --commit "+w.report.Commit+plans, 150), ".\n")
	}
	if w.report.Apply && w.whole() {
		w.line("To apply them before the merge, comment ", code("/yuba apply --commit "+w.report.Commit, 100), ".\n")
	}
	foot := []string{}
	if all != "" {
		foot = append(foot, all)
	}
	if w.report.Commit != "" {
		foot = append(foot, "commit "+code(w.report.Commit, 12))
	}
	if !w.report.Deaf {
		foot = append(foot, "commands: `/yuba help`")
	}
	w.line(strings.Join(foot, " · "))
}

// omitted is how many are left out.
func omitted(n int, what string) string {
	switch {
	case n == 0:
		return ""
	case n == 1:
		return "1 " + what
	case what == "text of changes":
		return strconv.Itoa(n) + " texts of changes"
	case what == "detail of the stacks behind":
		return strconv.Itoa(n) + " details of the stacks behind"
	}
	return strconv.Itoa(n) + " " + what + "s"
}
