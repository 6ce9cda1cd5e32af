// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

func oneOf(name, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return fmt.Errorf("%s is %q, expected %s", name, value, strings.Join(allowed, " or "))
}

// limits are the parameters of max-changes; nil for no limit.
type limits struct {
	Total   *int `json:"total"`
	Create  *int `json:"create"`
	Update  *int `json:"update"`
	Replace *int `json:"replace"`
	Destroy *int `json:"destroy"`
	Forget  *int `json:"forget"`
	Import  *int `json:"import"`
	Percent *int `json:"percent"`
	// ByType limits the changes of each type that matches a pattern, in total.
	ByType map[string]int `json:"byType"`
}

var maxChanges = Rule{
	Name:    "max-changes",
	Summary: "The plan changes at most so many resources.",
	Details: "A replacement counts in `replace` and in `destroy`, and once in `total`. A resource that is dropped from the state counts in `forget` and `total`. " +
		"Moves and imports without other changes do not count in `total`. Without any parameter, `total` is 10.",
	Parameters: []Parameter{
		{Name: "total", Type: TypeNumber, Meaning: "The maximum number of changed resources."},
		{Name: "create", Type: TypeNumber, Meaning: "The maximum number of created resources."},
		{Name: "update", Type: TypeNumber, Meaning: "The maximum number of resources that are changed in place."},
		{Name: "replace", Type: TypeNumber, Meaning: "The maximum number of replaced resources."},
		{Name: "destroy", Type: TypeNumber, Meaning: "The maximum number of destroyed objects, those of replacements and deposed ones among them."},
		{Name: "forget", Type: TypeNumber, Meaning: "The maximum number of resources that are dropped from the state."},
		{Name: "import", Type: TypeNumber, Meaning: "The maximum number of imported objects."},
		{Name: "percent", Type: TypeNumber, Meaning: "The maximum share of changed or destroyed resources among those in the state, in percent. Created ones do not count. A plan on an empty state passes."},
		{Name: "byType", Type: TypeObject, Meaning: "The maximum number of changed resources by type. `*` in a type stands for any text: `aws_db_*: 0`."},
	},
	Example: "total: 20\ndestroy: 2\nbyType: {\"aws_db_*\": 0}",
	Stages:  afterPlan,
	prepare: func(raw json.RawMessage) (check, error) {
		var p limits
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		all := []*int{p.Total, p.Create, p.Update, p.Replace, p.Destroy, p.Forget, p.Import, p.Percent}
		if len(p.ByType) == 0 && !slices.ContainsFunc(all, func(n *int) bool { return n != nil }) {
			ten := 10
			p.Total = &ten
		}
		for _, n := range all {
			if n != nil && *n < 0 {
				return nil, errors.New("a limit is negative")
			}
		}
		for name, n := range p.ByType {
			if n < 0 || strings.TrimSpace(name) == "" {
				return nil, fmt.Errorf("byType: the limit of %q is negative, or it has no name", name)
			}
		}
		return p.judge, nil
	},
}

func (p *limits) judge(f *facts.Document, _ time.Time, r *report) {
	var t facts.Tally
	destroyed := 0
	byType := map[string]int{}
	for c := range selected(f, &selection{}, r) {
		switch c.Action {
		case facts.ActionCreate:
			t.Create++
		case facts.ActionUpdate:
			t.Update++
		case facts.ActionReplace:
			t.Replace++
		case facts.ActionDelete:
			t.Delete++
		case facts.ActionForget:
			t.Forget++
		}
		if c.Destroys {
			destroyed++
		}
		if c.Imports {
			t.Import++
		}
		if c.Action != facts.ActionNoOp {
			byType[c.Type]++
		}
	}
	for _, l := range []struct {
		limit *int
		have  int
		verb  string
	}{
		{p.Total, t.Changes(), "changed"}, {p.Create, t.Create, "created"}, {p.Update, t.Update, "changed in place"}, {p.Replace, t.Replace, "replaced"},
		{p.Destroy, destroyed, "destroyed"}, {p.Forget, t.Forget, "dropped from the state"}, {p.Import, t.Import, "imported"},
	} {
		if l.limit != nil && l.have > *l.limit {
			r.object("", "%d resources would be %s; at most %d are allowed", l.have, l.verb, *l.limit)
		}
	}
	if existing := t.Update + t.Replace + t.Delete + t.Forget; p.Percent != nil && existing > 0 && f.Plan != nil {
		if had := max(1, f.Plan.Resources); existing*100 > *p.Percent*had {
			r.object("", "%d of %d resources would be changed or destroyed; at most %d %% are allowed", existing, f.Plan.Resources, *p.Percent)
		}
	}
	for _, pattern := range sortedKeys(p.ByType) {
		n := 0
		for kind, have := range byType {
			if matches(pattern, kind) {
				n += have
			}
		}
		if n > p.ByType[pattern] {
			r.object("", "%d resources of the type %s would be changed; at most %d are allowed", n, pattern, p.ByType[pattern])
		}
	}
}

// tagAttributes are the attributes that hold labels of a resource, and nothing else.
var tagAttributes = []string{"tags", "tags_all", "labels", "terraform_labels", "effective_labels"}

var onlyTagsChanged = Rule{
	Name:    "only-tags-changed",
	Summary: "Resources are changed in place only, and only in their tags and labels.",
	Details: "Anything else is a finding: creating, destroying, replacing, forgetting, importing, another attribute, and an attribute that is unknown until the apply, unless it is a tag. " +
		"The attributes are `tags`, `tags_all`, `labels`, `terraform_labels` and `effective_labels`. Some policies depend on tags: an IAM condition with `aws:ResourceTag` is one, so think before you free such plans.",
	Parameters: []Parameter{
		{Name: "attributes", Type: TypeTexts, Meaning: "More attributes that may change, such as `metadata.labels`; the name of a top-level attribute, or that of an attribute in it."},
		{Name: "moves", Type: TypeSwitch, Default: "true", Meaning: "Whether resources may be moved to another address."},
	},
	Example: "attributes: [description]",
	Stages:  afterPlan,
	prepare: func(raw json.RawMessage) (check, error) {
		p := struct {
			Attributes patterns `json:"attributes"`
			Moves      bool     `json:"moves"`
		}{Moves: true}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		allowed := slices.Concat(tagAttributes, p.Attributes)
		return func(f *facts.Document, _ time.Time, r *report) {
			for c := range selected(f, &selection{}, r) {
				switch {
				case c.Imports:
					r.object(c.Address, "would be imported")
				case c.Previous != "" && !p.Moves:
					r.object(c.Address, "would be moved from %s", c.Previous)
				case c.Action == facts.ActionNoOp:
				case c.Action != facts.ActionUpdate:
					r.object(c.Address, "the action is %s", c.Action)
				case c.ChangedOmitted > 0:
					r.unknown(c.Address, "%d attributes would change", len(c.Changed)+c.ChangedOmitted)
				case len(c.Changed) == 0:
					r.unknown(c.Address, "it would change, but no attribute differs")
				default:
					if other := slices.DeleteFunc(slices.Clone(c.Changed), func(name string) bool { return covered(name, allowed) }); len(other) > 0 {
						r.object(c.Address, "%s would change, too", strings.Join(other[:min(5, len(other))], ", "))
					}
				}
			}
		}, p.Attributes.validate("attributes")
	},
}

// covered reports whether an attribute, or the one that it is part of, is in a list.
func covered(name string, list []string) bool {
	top, _, _ := strings.Cut(name, ".")
	return slices.Contains(list, name) || slices.Contains(list, top)
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
