// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inbox

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shell"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/query"
	"github.com/yuba-dev/yuba/internal/web/site"
)

const (
	// maxRows is how many stacks one decision is about at most.
	maxRows = 200
	// likePrefix begins a row that stands for all plans of one fold, see foldOf.
	likePrefix = "like:"
)

// confirmation is the data of the template "inbox-confirm".
type confirmation struct {
	Verb  acts.Verb
	Steps []step
	// Can counts the stacks that can be acted on, Cannot the others, More those beyond the limit.
	Can, Cannot, More int
	Decides           bool
}

// step is what will happen to one stack.
type step struct {
	ID, Key, Address, Row string
	Plan, Digest, Summary string
	Will                  string
	// Cannot says why it cannot be acted on; empty if it can.
	Cannot string
	needs  *infrav1.Terraform
}

// selection is what an address selects: rows as the person saw them, plans that change the same, and
// what a query finds.
type selection struct {
	rows  []acts.Row
	likes []string
}

func parseSelection(values []string) (s selection, err error) {
	for _, text := range values {
		if fold, ok := strings.CutPrefix(text, likePrefix); ok && fold != "" {
			s.likes = append(s.likes, fold)
			continue
		}
		row, ok := acts.ParseRow(text)
		if !ok {
			return s, site.BadRequest("The address selects something that is not a stack.", "Go back, and select rows again.")
		}
		s.rows = append(s.rows, row)
	}
	return s, nil
}

// foresee says what a verb will do with each selected stack, those that it can act on first.
func foresee(v acts.Verb, s selection, found []*infrav1.Terraform, visible []*infrav1.Terraform) []step {
	byKey := make(map[string]*infrav1.Terraform, len(visible))
	for _, t := range visible {
		byKey[title(t)] = t
	}
	seen := map[string]bool{}
	var steps []step
	add := func(row acts.Row, t *infrav1.Terraform) {
		if key := row.Key(); !seen[key] {
			seen[key] = true
			steps = append(steps, stepOf(v, row, t))
		}
	}
	for _, row := range s.rows {
		add(row, byKey[row.Key()])
	}
	for _, t := range visible {
		if fold := foldOf(t); fold != "" && slices.Contains(s.likes, fold) {
			add(acts.RowOf(t), t)
		}
	}
	for _, t := range found {
		add(acts.RowOf(t), t)
	}
	slices.SortStableFunc(steps, func(a, b step) int {
		return cmp.Or(cmp.Compare(boolInt(a.Cannot != ""), boolInt(b.Cannot != "")), strings.Compare(a.Key, b.Key))
	})
	return steps
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func stepOf(v acts.Verb, row acts.Row, t *infrav1.Terraform) step {
	s := step{ID: idOf("step", row.Namespace, row.Name), Key: row.Key(), Address: site.Path("stacks", row.Namespace, row.Name), needs: t}
	if t == nil {
		s.Cannot = "It does not exist any more, or you may not see it."
		return s
	}
	now := acts.RowOf(t)
	s.Row, s.Summary = now.String(), t.Status.Plan.Summary
	if v.Decides() {
		s.Plan, s.Digest = now.Plan, short(now.Digest)
		if row.Plan != "" && row != now {
			s.Cannot = "It has moved on: you selected plan " + row.Plan + ", and now " + cmp.Or(now.Plan, "none") + " is pending."
			if row.Plan == now.Plan {
				s.Cannot = "Plan " + now.Plan + " has other bytes than when you selected it."
			}
			return s
		}
	}
	s.Will, s.Cannot = acts.Foresee(v, t)
	return s
}

func (p *pages) confirm(r *site.Request) (*site.Page, error) {
	values := r.URL.Query()
	verb := acts.Verb(values.Get("verb"))
	if !verb.Known() {
		return nil, site.BadRequest("The address does not say what to do.", "Go back, and choose a button.")
	}
	selected, err := parseSelection(values["row"])
	if err != nil {
		return nil, err
	}
	visible, err := p.finder.Visible(r)
	if err != nil {
		return nil, err
	}
	var found []*infrav1.Terraform
	if text := values.Get("q"); text != "" {
		if found, err = p.foundBy(r, text); err != nil {
			return nil, err
		}
	}
	c := &confirmation{Verb: verb, Decides: verb.Decides(), Steps: foresee(verb, selected, found, visible)}
	c.More = max(0, len(c.Steps)-maxRows)
	c.Steps = c.Steps[:min(len(c.Steps), maxRows)]
	for i := range c.Steps {
		s := &c.Steps[i]
		if s.Cannot == "" {
			s.Cannot = r.Allow(site.Button{}, acts.Right(verb, s.needs)).Missing
		}
		if s.Cannot == "" {
			c.Can++
		} else {
			c.Cannot++
		}
	}
	return &site.Page{Title: fmt.Sprintf("%s %s", verb.Label(), counted(len(c.Steps), "stack")), Section: Section, Trail: []site.Link{{Text: "Inbox", Address: Section}},
		// The page stays as it is, so that a person decides about what they read: it has no topics.
		Commands: commandsOf(verb, c.Steps), Parts: []site.Part{{ID: "confirm", View: "inbox-confirm", Data: c}}}, nil
}

func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return site.Grouped(n) + " " + noun
}

// commandsOf are the commands that do the same.
func commandsOf(v acts.Verb, steps []step) []string {
	var lines []string
	for _, s := range steps {
		if s.Cannot != "" {
			continue
		}
		words := []string{"yuba", string(v), s.Key}
		if v.Decides() {
			words = append(words, s.Plan)
		}
		lines = append(lines, shell.Line(words...))
	}
	if len(lines) == 0 {
		return nil
	}
	return []string{strings.Join(lines, "\n")}
}

// foundBy are the stacks that a query finds.
func (p *pages) foundBy(r *site.Request, text string) ([]*infrav1.Terraform, error) {
	q, err := query.Parse(text)
	var problem *query.Error
	if errors.As(err, &problem) {
		return nil, site.BadRequest(fmt.Sprintf("The query cannot be read: %s.", problem), "")
	}
	result, err := p.finder.Stacks(r, q, false)
	if err != nil {
		return nil, err
	}
	all := make([]*infrav1.Terraform, 0, len(result.Stacks))
	for _, s := range result.Stacks {
		all = append(all, s.Terraform)
	}
	return all, nil
}
