// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"
	"strings"
)

// Known are the values that stacks have, for completion. Labels have their names without prefixes.
type Known struct {
	Labels                       map[string][]string
	Namespaces, Sources, Tenants []string
}

// Suggestion is a text that the person may have meant.
type Suggestion struct {
	// Text is the whole query with the last term completed.
	Text string `json:"text"`
	// Says explains it.
	Says string `json:"says,omitempty"`
}

// maxSuggestions is as many as anybody reads.
const maxSuggestions = 20

// Complete returns what the last term of a text may become.
func Complete(text string, k Known) []Suggestion {
	if len(text) > MaxLength {
		return nil
	}
	from := lastTerm(text)
	head, last := text[:from], text[from:]
	if strings.HasPrefix(last, "-") {
		head, last = head+"-", last[1:]
	}
	name, found := fieldAt(last)
	if !found {
		return completeField(head, last, k)
	}
	values := last[len(name)+1:]
	comma := strings.LastIndexByte(values, ',') + 1
	head, typed := head+name+":"+values[:comma], values[comma:]
	var all []Suggestion
	for _, v := range valuesOf(strings.ToLower(name), k) {
		if startsWith(v, strings.TrimPrefix(typed, `"`)) {
			all = append(all, Suggestion{Text: head + quoted(v)})
		}
	}
	return all[:min(len(all), maxSuggestions)]
}

// lastTerm is where the last term of a text begins. Spaces within quotes do not end one.
func lastTerm(text string) int {
	from, in := 0, false
	for i := range len(text) {
		switch {
		case text[i] == '"':
			in = !in
		case isSpace(text[i]) && !in:
			from = i + 1
		}
	}
	return from
}

func completeField(head, typed string, k Known) []Suggestion {
	var all []Suggestion
	for _, f := range Fields {
		if startsWith(f.Name, typed) {
			all = append(all, Suggestion{head + f.Name + ":", f.Says})
		}
	}
	var labels []string
	for name := range k.Labels {
		if startsWith(name, typed) {
			labels = append(labels, name)
		}
	}
	slices.Sort(labels)
	for _, name := range labels {
		all = append(all, Suggestion{head + name + ":", "a label"})
	}
	return all[:min(len(all), maxSuggestions)]
}

// valuesOf are the values that a field may have.
func valuesOf(field string, k Known) []string {
	switch field {
	case "ns":
		return k.Namespaces
	case "source":
		return k.Sources
	case "tenant":
		return k.Tenants
	case "changed":
		return []string{"<1h", "<1d", "<7d", ">1d", ">30d"}
	}
	for _, f := range Fields {
		if f.Name == field {
			if f.Values == nil && f.Example != "" {
				return []string{f.Example}
			}
			return f.Values
		}
	}
	var all []string
	for name, values := range k.Labels {
		if IsLabel(name, field) {
			all = append(all, values...)
		}
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func startsWith(text, typed string) bool {
	return len(text) >= len(typed) && strings.EqualFold(text[:len(typed)], typed)
}

// quoted quotes a value that would otherwise end early.
func quoted(text string) string {
	if !strings.ContainsAny(text, " \t\n\r,\"\\") {
		return text
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`
}

// Term writes FIELD:VALUE, so that it is read as that one value.
func Term(field, value string) string { return field + ":" + quoted(value) }

// With returns a query with this one term of a field: other terms of the field, unless negated, are
// left out. A text that cannot be read gets the term at its end.
func With(text, field, value string) string {
	q, err := Parse(text)
	var kept []string
	if err != nil {
		kept = append(kept, strings.TrimSpace(text))
	}
	for _, t := range q.terms {
		if err == nil && (t.field != field || t.not) {
			kept = append(kept, text[t.at:t.end])
		}
	}
	return strings.TrimSpace(strings.Join(append(kept, Term(field, value)), " "))
}
