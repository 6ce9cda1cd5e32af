// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package comment

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Effect is what becomes of a stack behind those that a pull request changes.
type Effect string

// The effects, the riskiest first.
const (
	// Breaks: the change breaks a contract that the stack reads.
	Breaks Effect = "breaks"
	// Fails: its plan with the planned values fails. Refused: policies refuse that plan.
	Fails   Effect = "fails"
	Refused Effect = "refused"
	// Changes: its plan with the planned values changes something. Stays: it changes nothing.
	Changes Effect = "changes"
	Same    Effect = "same"
	// Runs: what it reads changes, and it was not planned. MayRun: whether that changes is not known yet.
	Runs   Effect = "runs"
	MayRun Effect = "mayRun"
	// Unknown: it cannot be planned before others are applied.
	Unknown Effect = "unknown"
)

// Input is a part that a stack reads and that changes. Its values are redacted.
type Input struct{ From, Path, Before, After string }

// Consequence is a stack behind those that the pull request changes.
type Consequence struct {
	Name string
	// Level is the number of steps from a changed stack.
	Level  int
	Effect Effect
	// Here says that the pull request changes the stack itself, too: its plan above is without what the
	// other one changes.
	Here bool `json:",omitempty"`
	// Inputs are what it reads that changes, Because why else it is here, or why it fails.
	Inputs  []Input  `json:",omitempty"`
	Because []string `json:",omitempty"`
	// Counts, Outputs and Changes are of its plan with the planned values.
	Counts  Counts `json:",omitzero"`
	Outputs int    `json:",omitempty"`
	Changes string `json:",omitempty"`
}

// Breaking reports whether the pull request breaks the stack. What it changes itself is judged by its own
// plan: it may be changed to fit.
func (c *Consequence) Breaking() bool {
	return !c.Here && (c.Effect == Breaks || c.Effect == Fails || c.Effect == Refused)
}

// follows is how many follow, by effect.
func follows(all []Consequence) (breaking int, words string) {
	counts := map[Effect]int{}
	for i := range all {
		if all[i].Breaking() {
			breaking++
			continue
		}
		counts[all[i].Effect]++
	}
	rest := counts[Breaks] + counts[Fails] + counts[Refused]
	return breaking, list(some(breaking, verb(breaking, "breaks", "break")), some(counts[Changes], verb(counts[Changes], "changes", "change")),
		some(counts[Runs], verb(counts[Runs], "runs", "run")), some(counts[MayRun], "may run"),
		some(counts[Unknown], "cannot be planned yet"), some(rest, verb(rest, "breaks without what is changed here", "break without what is changed here")), some(counts[Same], verb(counts[Same], "stays as it is", "stay as they are")))
}

func verb(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// behind are consequences that are alike.
type behind struct {
	names []string
	Consequence
}

var effectRisk = map[Effect]int{Breaks: 7, Fails: 6, Refused: 5, Changes: 4, Unknown: 3, Runs: 2, MayRun: 1}

// rank orders consequences: what breaks first, then what destroys.
func (c *Consequence) rank() int {
	switch {
	case c.Breaking():
		return 10 + effectRisk[c.Effect]
	case c.Counts.Destroy+c.Counts.Replace > 0:
		return 9
	}
	return effectRisk[c.Effect]
}

// behinds folds consequences that are alike, the riskiest first.
func behinds(list []Consequence) []behind {
	sorted := slices.Clone(list)
	slices.SortStableFunc(sorted, func(a, b Consequence) int { return strings.Compare(a.Name, b.Name) })
	var out []behind
	at := map[string]int{}
	for _, c := range sorted {
		key := c
		sum := sha256.Sum256([]byte(c.Changes))
		key.Name, key.Changes = "", string(sum[:])
		id := fmt.Sprintf("%#v", key)
		i, known := at[id]
		if !known {
			i = len(out)
			at[id] = i
			out = append(out, behind{Consequence: c})
		}
		out[i].names = append(out[i].names, c.Name)
	}
	slices.SortStableFunc(out, func(a, b behind) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(a.Level, b.Level), strings.Compare(a.names[0], b.names[0]))
	})
	return out
}

var effectSigns = map[Effect]string{Breaks: "❌", Fails: "❌", Refused: "⛔", Changes: "✅", Same: "✅", Runs: "▶️", MayRun: "❔", Unknown: "✋"}

// result says in words what becomes of a stack.
func (c *Consequence) result() string {
	words := ""
	switch c.Effect {
	case Breaks:
		words = "**breaks**"
	case Fails:
		words = "**its plan fails**"
	case Refused:
		words = "**refused by policy**"
	case Changes:
		if words = c.Counts.String(); c.Counts.Zero() && c.Outputs > 0 {
			words = ""
		}
		if c.Outputs > 0 {
			words = list(words, plural(c.Outputs, "output"))
		}
	case Same:
		words = "no changes"
	case Runs:
		words = "runs"
	case MayRun:
		words = "may run"
	case Unknown:
		words = "cannot be planned yet"
	}
	if c.Here {
		words += ", changed here, too"
	}
	return words
}

const (
	// maxInputsShown and maxValue limit what a row says about inputs.
	maxInputsShown = 5
	maxValue       = 60
	// maxNamesShown limits the stacks that are named although nothing about them is shown.
	maxNamesShown = 10
)

// consequencesOf writes what follows: a table of the stacks behind, folded unless something breaks, and
// their plans.
func (w *writer) consequencesOf(all []Consequence) {
	if len(all)+w.report.MoreBehind == 0 && w.report.BehindNote == "" && !w.report.BehindBusy {
		return
	}
	breaking, words := follows(all)
	shown, rest := all, []Consequence(nil)
	if w.report.OnlyBreaking {
		shown, rest = nil, nil
		for _, c := range all {
			if c.Breaking() {
				shown = append(shown, c)
			} else {
				rest = append(rest, c)
			}
		}
	}
	inner := writer{report: w.report, style: w.style, cut: w.cut}
	inner.behindTable(behinds(shown))
	inner.behindRest(rest)
	w.behind += inner.behind
	title := "What follows"
	if words != "" {
		title += ": " + words
	}
	text := strings.TrimRight(inner.out.String(), "\n") + "\n"
	if !w.style.Details {
		w.line("#### ", title, "\n\n", text)
		return
	}
	open := ""
	if breaking > 0 {
		open = " open"
	}
	w.line("<details", open, "><summary>", title, "</summary>\n\n", text, "\n</details>\n")
}

func (w *writer) behindTable(rows []behind) {
	if len(rows) == 0 {
		return
	}
	if w.cut.consequences == 0 {
		w.behind += len(rows)
		return
	}
	w.line("| | stack | level | plan | because |\n|---|---|---|---|---|")
	for i, b := range rows {
		if i >= w.cut.consequences {
			w.behind += len(rows) - i
			break
		}
		sign := effectSigns[b.Effect]
		if b.Counts.Destroy+b.Counts.Replace > 0 && b.Effect == Changes {
			sign = signs[destroys]
		}
		w.line("| ", sign, " | ", w.behindNames(b), " | ", strconv.Itoa(b.Level), " | ", b.result(), " | ", b.because(w.cut.detail), " |")
	}
	w.line("")
	for i, b := range rows {
		if i < w.cut.consequences && strings.TrimSpace(b.Changes) != "" {
			w.behindChanges(b)
		}
	}
}

func (w *writer) behindNames(b behind) string {
	var parts []string
	for i, name := range b.names {
		if i >= w.cut.names {
			w.behind += len(b.names) - i
			parts = append(parts, "and "+strconv.Itoa(len(b.names)-i)+" more")
			break
		}
		parts = append(parts, cell(name, 150))
	}
	return strings.Join(parts, ", ")
}

// because says why a stack breaks, and what changes in what it reads.
func (c *Consequence) because(most int) string {
	var parts []string
	for _, why := range c.Because {
		parts = append(parts, cell(why, min(most, 300)))
	}
	for i, in := range c.Inputs {
		if i == maxInputsShown {
			parts = append(parts, "and "+strconv.Itoa(len(c.Inputs)-i)+" more")
			break
		}
		parts = append(parts, cell(in.Path, 150)+" of "+cell(in.From, 150)+": "+cell(in.Before, maxValue)+" → "+cell(in.After, maxValue))
	}
	return strings.Join(parts, "; ")
}

// behindChanges is the plan of a stack behind. It is the first to be left out: nobody approves it here.
func (w *writer) behindChanges(b behind) {
	text := b.Changes
	if len(text) > w.cut.follows {
		w.behind++
		text = text[:w.cut.follows]
		if text = text[:strings.LastIndexByte(text, '\n')+1]; text == "" {
			return
		}
		text += "…\n"
	}
	title := code(b.names[0], 150)
	if len(b.names) > 1 {
		title += " and " + plural(len(b.names)-1, "other")
	}
	w.line(title, ", with the planned values:\n\n", block("diff", colored(text)))
}

// behindRest names the stacks about which nothing else is shown.
func (w *writer) behindRest(rest []Consequence) {
	var names []string
	for _, c := range rest {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	if len(names) > 0 && w.cut.consequences > 0 {
		var shown []string
		for _, name := range names[:min(len(names), maxNamesShown)] {
			shown = append(shown, code(name, 150))
		}
		more := ""
		if n := len(names) - len(shown); n > 0 {
			more = " and " + strconv.Itoa(n) + " more"
		}
		_, words := follows(rest)
		hint := " To plan them with the planned values, comment `/yuba impact`."
		if w.report.Deaf || w.report.BehindBusy {
			hint = ""
		}
		w.line(strings.ToUpper(words[:1])+words[1:], ": ", strings.Join(shown, ", "), more, ".", hint, "\n")
	}
	if n := w.report.MoreBehind; n > 0 {
		w.line(plural(n, "more stack"), " behind, which ", verb(n, "is", "are"), " not shown here.\n")
	}
	if w.report.BehindBusy {
		w.line("⏳ They are being planned with the planned values.\n")
	}
	if note := w.report.BehindNote; note != "" {
		w.line(code(note, 500), "\n")
	}
}

// ByRisk sorts consequences: what breaks first.
func ByRisk(list []Consequence) []Consequence {
	out := slices.Clone(list)
	slices.SortStableFunc(out, func(a, b Consequence) int {
		return cmp.Or(cmp.Compare(b.rank(), a.rank()), cmp.Compare(a.Level, b.Level), strings.Compare(a.Name, b.Name))
	})
	return out
}

// Why says in plain text what changes in what a stack reads, and why it breaks.
func (c *Consequence) Why() string {
	parts := slices.Clone(c.Because)
	for _, in := range c.Inputs {
		parts = append(parts, in.Path+" of "+in.From+": "+in.Before+" -> "+in.After)
	}
	return strings.Join(parts, "; ")
}
