// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

var afterPlan = []facts.Stage{facts.StagePlan, facts.StageDrift}

var noDestroy = Rule{
	Name:    "no-destroy",
	Summary: "No resource is destroyed, and none is dropped from the state.",
	Details: "A replacement destroys the old object, so it is a finding, too; a deposed object that the apply cleans up is one. " +
		"A resource that is forgotten (a `removed` block with `destroy = false`) stays, but nobody manages it any more: it is a finding unless `forget` is `allow`. " +
		"A resource that is moved with a `moved` block is one if `types` or `addresses` do not cover its new address, as another plan could destroy it there. Actions that this version of Yuba does not know are findings.",
	Parameters: append([]Parameter{
		{Name: "forget", Type: TypeText, Default: "deny", Meaning: "`deny` or `allow`: whether resources may be dropped from the state."},
	}, selectionParameters...),
	Example: "types: [\"aws_db_*\", aws_s3_bucket]",
	Stages:  afterPlan,
	prepare: func(raw json.RawMessage) (check, error) {
		p := struct {
			selection
			Forget string `json:"forget"`
		}{Forget: "deny"}
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		if err := oneOf("forget", p.Forget, "deny", "allow"); err != nil {
			return nil, err
		}
		return func(f *facts.Document, _ time.Time, r *report) {
			for c := range selected(f, &p.selection, r) {
				switch {
				case c.Action == facts.ActionReplace && c.Destroys:
					r.object(c.Address, "would be destroyed and created again")
				case c.Destroys && c.Deposed != "":
					r.object(c.Address, "its deposed object %s would be destroyed", c.Deposed)
				case c.Destroys:
					r.object(c.Address, "would be destroyed")
				case c.Forgets && p.Forget == "deny":
					r.object(c.Address, "would be dropped from the state")
				}
			}
		}, p.validate()
	},
}

var noReplace = Rule{
	Name:       "no-replace",
	Summary:    "No resource is replaced.",
	Details:    "A replacement destroys an object and creates another, in any order. One whose old object is only forgotten is a finding, too.",
	Parameters: selectionParameters,
	Stages:     afterPlan,
	prepare: func(raw json.RawMessage) (check, error) {
		var p selection
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		return func(f *facts.Document, _ time.Time, r *report) {
			for c := range selected(f, &p, r) {
				if c.Action == facts.ActionReplace {
					r.object(c.Address, "would be replaced%s", because(c))
				}
			}
		}, p.validate()
	},
}

var noForget = Rule{
	Name:       "no-forget",
	Summary:    "No resource is dropped from the state while its object stays.",
	Details:    "Such objects cost money and are open to the world, and nobody manages them. `removed` blocks and `lifecycle { destroy = false }` make them.",
	Parameters: selectionParameters,
	Stages:     afterPlan,
	prepare: func(raw json.RawMessage) (check, error) {
		var p selection
		if err := strict(raw, &p); err != nil {
			return nil, err
		}
		return func(f *facts.Document, _ time.Time, r *report) {
			for c := range selected(f, &p, r) {
				if c.Forgets {
					r.object(c.Address, "would be dropped from the state; its object stays")
				}
			}
		}, p.validate()
	},
}

// because says why a resource is replaced, for people.
func because(c *facts.Change) string {
	switch c.ActionReason {
	case "replace_because_cannot_update":
		return " because of " + strings.Join(c.Changed[:min(3, len(c.Changed))], ", ")
	case "replace_because_tainted":
		return " because it is tainted"
	case "replace_by_request":
		return " because the run asks for it"
	case "replace_by_triggers":
		return " because of replace_triggered_by"
	}
	return ""
}

// selected iterates over the managed resources that a rule is about. A resource whose action is not
// known is a finding of every such rule. So is a document without a plan.
func selected(f *facts.Document, s *selection, r *report) func(yield func(*facts.Change) bool) {
	return func(yield func(*facts.Change) bool) {
		if f.Plan == nil {
			r.unknown("", "there is no plan to judge")
			return
		}
		if f.Plan.Errored {
			r.unknown("", "planning ended with an error, so the plan is incomplete")
		}
		for i := range f.Changes {
			c := &f.Changes[i]
			covers, covered := s.covers(c.Type, c.Address), c.Previous != "" && s.covers(typeOf(c.Previous), c.Previous)
			if c.Mode != "managed" || !covers && !covered {
				continue
			}
			if c.Action == facts.ActionUnknown {
				r.unknown(c.Address, "the action %q is not known", strings.Join(c.Actions, ", "))
				continue
			}
			before := len(r.result.Findings)
			if !yield(c) {
				return
			}
			if !covers && before == len(r.result.Findings) {
				// Another plan could do there what this rule forbids.
				r.object(c.Address, "would be moved from %s, which the rule covers, to an address that it does not cover", c.Previous)
			}
		}
	}
}

// typeOf is the type of a managed resource by its address; keys may contain any character.
func typeOf(address string) string {
	var outside strings.Builder
	for address != "" {
		if end := facts.KeyEnd(address); end > 0 {
			address = address[end:]
			continue
		}
		outside.WriteByte(address[0])
		address = address[1:]
	}
	parts := strings.Split(outside.String(), ".")
	return parts[max(0, len(parts)-2)]
}
