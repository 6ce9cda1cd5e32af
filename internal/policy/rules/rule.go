// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/facts"
)

// Finding is one violation.
type Finding struct {
	Rule string `json:"rule"`
	// Address is the resource, module, provider, output or contract; empty for the plan as a whole.
	Address string `json:"address,omitempty"`
	// Message says what is wrong, on one line.
	Message string `json:"message"`
	// Unknown is true if the rule could not know, and so objects.
	Unknown bool `json:"unknown,omitempty"`
}

// MaxFindings limits the findings of one check.
const MaxFindings = 100

// Result is what a check finds.
type Result struct {
	// Findings are sorted as the document is. Omitted counts those beyond the limit.
	Findings []Finding `json:"findings,omitempty"`
	Omitted  int       `json:"omitted,omitempty"`
	// ValidUntil is when the result ends by time alone; zero for never. RetryAt is when it may be
	// better by time alone; zero for never.
	ValidUntil time.Time `json:"validUntil,omitzero"`
	RetryAt    time.Time `json:"retryAt,omitzero"`
}

// Type is the type of a parameter.
type Type string

// The types of parameters.
const (
	TypeText   Type = "string"
	TypeTexts  Type = "list of strings"
	TypeNumber Type = "integer"
	TypeSwitch Type = "boolean"
	TypeObject Type = "object"
	TypeList   Type = "list of objects"
)

// Parameter describes a parameter of a rule.
type Parameter struct {
	Name     string
	Type     Type
	Required bool
	// Default is what an absent parameter means, as people read it.
	Default string
	// Meaning is a sentence in Markdown.
	Meaning string
}

// Rule is a built-in rule.
type Rule struct {
	Name string
	// Summary is one sentence. Details are paragraphs in Markdown.
	Summary string
	Details string
	// Parameters are in the order of the documentation.
	Parameters []Parameter
	// Example are parameters as YAML, below "with:"; empty for none.
	Example string
	// Stages are those in which the rule has something to judge.
	Stages []facts.Stage

	prepare func(parameters json.RawMessage) (check, error)
}

// check judges a document. It adds its findings to r.
type check func(f *facts.Document, now time.Time, r *report)

// All returns the rules, sorted by name.
func All() []Rule {
	all := slices.Clone(registry)
	slices.SortFunc(all, func(a, b Rule) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Names returns the names of the rules, sorted.
func Names() []string {
	var names []string
	for _, r := range All() {
		names = append(names, r.Name)
	}
	return names
}

// Lookup returns a rule.
func Lookup(name string) (Rule, bool) {
	at := slices.IndexFunc(registry, func(r Rule) bool { return r.Name == name })
	if at < 0 {
		return Rule{}, false
	}
	return registry[at], true
}

// Check is a rule with its parameters. It is safe for concurrent use.
type Check struct {
	rule Rule
	run  check
}

// Prepare validates the parameters of a rule, a JSON object or nothing.
func Prepare(name string, parameters json.RawMessage) (*Check, error) {
	rule, known := Lookup(name)
	if !known {
		return nil, fmt.Errorf("the built-in rule %q does not exist; \"yuba policy rules\" lists them", name)
	}
	run, err := rule.prepare(parameters)
	if err != nil {
		return nil, fmt.Errorf("the parameters of the rule %s: %w", name, err)
	}
	return &Check{rule, run}, nil
}

// Rule returns the rule of the check.
func (c *Check) Rule() Rule { return c.rule }

// Judge judges a document at a time. If a rule panics, the whole document is a finding.
func (c *Check) Judge(f *facts.Document, now time.Time) (result Result) {
	r := &report{rule: c.rule.Name}
	defer func() {
		if p := recover(); p != nil {
			r.unknown("", "the rule failed: %v. This is a bug in Yuba", p)
			result = r.result
		}
	}()
	c.run(f, now, r)
	return r.result
}

// report collects findings.
type report struct {
	rule   string
	result Result
}

func (r *report) add(f Finding) {
	if len(r.result.Findings) >= MaxFindings {
		r.result.Omitted++
		return
	}
	r.result.Findings = append(r.result.Findings, f)
}

// object adds a violation.
func (r *report) object(address, format string, args ...any) {
	r.add(Finding{Rule: r.rule, Address: address, Message: fmt.Sprintf(format, args...)})
}

// unknown adds a violation by something that the rule cannot know.
func (r *report) unknown(address, format string, args ...any) {
	r.add(Finding{Rule: r.rule, Address: address, Message: fmt.Sprintf(format, args...), Unknown: true})
}
