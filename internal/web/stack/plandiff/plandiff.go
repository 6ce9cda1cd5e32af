// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plandiff

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

const (
	// PerPage is how many resources are on a page.
	PerPage = 100
	// opened is up to how many resources a plan is shown unfolded.
	opened = 20
	// maxLines limits the lines of one resource, and of the outputs; maxWhole those of a resource that is
	// shown alone. maxText limits the characters of one line. The download has all.
	maxLines, maxWhole = 400, 10_000
	maxText            = 2000
	// maxDrift limits the resources that changed outside of the stack.
	maxDrift = 100
)

// Options say what to show of a plan.
type Options struct {
	// Find is a text that addresses must have, in any case; empty for all.
	Find string
	// Kind is one of [Kinds]; empty for all.
	Kind string
	// All shows unchanged attributes, too.
	All bool
	// Page counts from 1.
	Page int
	// Only is the id of one resource, which is shown whole; empty for all.
	Only string
}

// View is a plan as it is shown.
type View struct {
	Sentence string
	// Kinds are the kinds of changes that occur.
	Kinds []Kind
	// Rows are the changes on this page, of Total that match and All there are.
	Rows       []Row
	Total, All int
	// First and Last count the rows from 1; Page of Pages.
	First, Last, Page, Pages int
	// Drift are changes outside of the stack, DriftMore counts those that are not listed.
	Drift     []Row
	DriftMore int
	Outputs   []Line
	// OutputsMore counts lines of outputs that are not shown.
	OutputsMore int
	// Omitted counts changes that the plan's description lacks.
	Omitted int
	// Empty is true for a plan without changes.
	Empty bool
}

// Kind is a kind of change.
type Kind struct {
	// Name is what Options.Kind takes, Word what people read.
	Name, Word, Sign string
	Count            int
}

// Row is the change of one resource.
type Row struct {
	// ID identifies the resource in links.
	ID      string
	Address string
	// Kind is the name of its kind, Sign its sign.
	Kind, Sign string
	// Headline is a sentence, Notes are reasons.
	Headline string
	Notes    []string
	Lines    []Line
	// More counts lines that are not shown.
	More int
	Open bool
}

// Line is one line of a difference.
type Line struct {
	// Class is add, del, change, note or empty.
	Class, Sign, Text string
	Forces            bool
	// Cut is how many characters are missing.
	Cut int
}

// The kinds in the order in which they are listed: the dangerous ones first.
var kinds = []Kind{
	{Name: "delete", Word: "destroyed", Sign: "-"}, {Name: "replace", Word: "replaced", Sign: "-/+"}, {Name: "forget", Word: "forgotten", Sign: "."},
	{Name: "create", Word: "created", Sign: "+"}, {Name: "update", Word: "updated", Sign: "~"}, {Name: "import", Word: "imported", Sign: "&"},
	{Name: "move", Word: "moved", Sign: ">"}, {Name: "read", Word: "read", Sign: "<="},
}

// kindOf is the kind of a change.
func kindOf(c *plan.ResourceChange) (name, sign string) {
	switch c.Action {
	case plan.Create, plan.Update, plan.Delete, plan.Read:
		name = string(c.Action)
	case plan.Replace:
		switch {
		case c.Forgets:
			return "replace", "./+"
		case c.CreateFirst:
			return "replace", "+/-"
		}
		name = "replace"
	case plan.Forget:
		name = "forget"
	default:
		name = "import"
		if c.Previous != "" {
			name = "move"
		}
	}
	for _, k := range kinds {
		if k.Name == name {
			sign = k.Sign
		}
	}
	return name, sign
}

// Of makes the view of a plan. It reads the values of what it shows.
func Of(p *plan.Outline, o Options) (*View, error) {
	v := &View{Sentence: p.Counts.Sentence(), All: len(p.Changes), Omitted: p.Omitted, Empty: !p.HasChanges()}
	v.Outputs, v.OutputsMore = cut(p.OutputLines(o.All), maxLines)
	counts, matching := map[string]int{}, []int{}
	find := strings.ToLower(o.Find)
	for i := range p.Changes {
		c := &p.Changes[i]
		kind, _ := kindOf(c)
		counts[kind]++
		if (o.Kind == "" || o.Kind == kind) && matches(c, find) && (o.Only == "" || o.Only == idOf(c)) {
			matching = append(matching, i)
		}
	}
	for _, k := range kinds {
		if k.Count = counts[k.Name]; k.Count > 0 {
			v.Kinds = append(v.Kinds, k)
		}
	}
	v.Total = len(matching)
	v.Pages = max(1, (v.Total+PerPage-1)/PerPage)
	v.Page = min(max(o.Page, 1), v.Pages)
	from := (v.Page - 1) * PerPage
	to := min(from+PerPage, v.Total)
	if v.Last = to; to > from {
		v.First = from + 1
	}
	for _, i := range matching[from:to] {
		c, err := p.Change(i)
		if err != nil {
			return nil, err
		}
		v.Rows = append(v.Rows, rowOf(&c, o, v.Total <= opened, false))
	}
	return v, v.drift(p, o, find)
}

// drift adds the changes outside of the stack.
func (v *View) drift(p *plan.Outline, o Options, find string) error {
	for i := range p.Drift {
		switch {
		case !matches(&p.Drift[i], find) || o.Only != "":
			continue
		case len(v.Drift) == maxDrift:
			v.DriftMore++
			continue
		}
		c, err := p.Drifted(i)
		if err != nil {
			return err
		}
		v.Drift = append(v.Drift, rowOf(&c, o, false, true))
	}
	return nil
}

func matches(c *plan.ResourceChange, find string) bool {
	return find == "" || strings.Contains(strings.ToLower(c.Address), find) || strings.Contains(strings.ToLower(c.Previous), find)
}

// idOf identifies a change, whatever its address contains.
func idOf(c *plan.ResourceChange) string {
	sum := sha256.Sum256([]byte(c.Address + "\x00" + c.Deposed))
	return hex.EncodeToString(sum[:6])
}

func rowOf(c *plan.ResourceChange, o Options, open, drifted bool) Row {
	kind, sign := kindOf(c)
	r := Row{ID: idOf(c), Address: short(diagnostic.Printable(c.Address)), Kind: kind, Sign: sign, Headline: short(c.Headline(drifted)), Open: open || o.Only != ""}
	for _, note := range append(c.Notes(), forcing(c)...) {
		r.Notes = append(r.Notes, short(note))
	}
	most := maxLines
	if o.Only != "" {
		most = maxWhole
	}
	r.Lines, r.More = cut(c.Lines(o.All), most)
	return r
}

// cut returns the first lines, and how many more there are.
func cut(all []plan.Line, most int) (shown []Line, more int) {
	shown = lines(all[:min(len(all), most)])
	return shown, len(all) - len(shown)
}

// forcing says which attributes force a replacement.
func forcing(c *plan.ResourceChange) []string {
	if c.Action != plan.Replace || len(c.Replaces) == 0 {
		return nil
	}
	var paths []string
	for _, path := range c.Replaces {
		paths = append(paths, pathText(path))
	}
	return []string{"because it cannot be changed in place: " + strings.Join(paths, ", ")}
}

// pathText is a path of attribute names and indices: tags["a"], list[0].name.
func pathText(path []any) string {
	var b strings.Builder
	for i, step := range path {
		switch step := step.(type) {
		case string:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(diagnostic.Printable(step))
		default:
			fmt.Fprintf(&b, "[%v]", step)
		}
	}
	return b.String()
}

func short(text string) string { return shorten.Cut(text, maxText) }

var classes = map[plan.Sign]string{plan.Added: "add", plan.Removed: "del", plan.Changed: "change"}

func lines(all []plan.Line) []Line {
	out := make([]Line, 0, len(all))
	for _, l := range all {
		line := Line{Class: classes[l.Sign], Sign: string(l.Sign), Forces: l.Forces}
		if l.Note {
			line.Class = "note"
		}
		text := shorten.CutBytes(l.Text, maxText)
		line.Cut = max(0, len(l.Text)-maxText)
		line.Text = strings.Repeat(" ", min(l.Indent, 120)) + text
		out = append(out, line)
	}
	return out
}
