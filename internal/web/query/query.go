// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package query

import (
	"slices"
	"strings"
	"time"
)

// Stack is what a query sees of a stack.
type Stack struct {
	Namespace, Name string
	// State is a word of package standing.
	State string
	// Drift is whether the infrastructure differs from the last apply.
	Drift bool
	// Changed is when something about it last changed.
	Changed time.Time
	Labels  map[string]string
	// Source is KIND/NAMESPACE/NAME; empty for inline programs.
	Source string
	// Tenant is NAMESPACE/NAME of the tenant that it belongs to; empty for none.
	Tenant string
	// Cause identifies what its failure has in common with others. Only set if the query needs it.
	Cause string
	// Text is what it says about itself.
	Text string
}

// Facts are what matching needs besides the stack.
type Facts struct {
	Now time.Time
	// Users has the answers of lookups: the stacks as NAMESPACE/NAME.
	Users map[Lookup]map[string]bool
}

// Lookup asks for the users of a module, provider or tool, in the form of "yuba registry users".
type Lookup struct{ Of string }

// Query is a parsed text.
type Query struct {
	Text  string
	terms []term
}

// term is one condition.
type term struct {
	not   bool
	field string
	// label is true if the field is the name of a label.
	label  bool
	values []value
	// at and end are where it is in the text, in bytes.
	at, end int
}

// value is one alternative of a term.
type value struct {
	text string
	// pattern is text in lower case, with * for anything.
	pattern string
	// than is "<" or ">", for the age of the last change, or empty.
	than   string
	age    time.Duration
	lookup Lookup
}

// fieldText is the field of words without one.
const fieldText = ""

// Empty reports whether all stacks match.
func (q Query) Empty() bool { return len(q.terms) == 0 }

// Lookups are the questions whose answers [Facts] must have.
func (q Query) Lookups() []Lookup {
	var all []Lookup
	for _, t := range q.terms {
		for _, v := range t.values {
			if v.lookup != (Lookup{}) && !slices.Contains(all, v.lookup) {
				all = append(all, v.lookup)
			}
		}
	}
	return all
}

// Uses reports whether the query has a term of this field.
func (q Query) Uses(field string) bool {
	return slices.ContainsFunc(q.terms, func(t term) bool { return t.field == field && !t.label })
}

// Labels are the names of labels that the query has, in lower case.
func (q Query) Labels() []string {
	var all []string
	for _, t := range q.terms {
		if t.label && !slices.Contains(all, t.field) {
			all = append(all, t.field)
		}
	}
	return all
}

// Match reports whether a stack has all that the query asks for.
func (q Query) Match(s *Stack, f Facts) bool {
	for i := range q.terms {
		t := &q.terms[i]
		if slices.ContainsFunc(t.values, func(v value) bool { return t.matches(&v, s, f) }) == t.not {
			return false
		}
	}
	return true
}

func (t *term) matches(v *value, s *Stack, f Facts) bool {
	if t.label {
		return hasLabel(s.Labels, t.field, v.pattern)
	}
	switch t.field {
	case fieldText:
		return contains(s.Namespace+"/"+s.Name, v.pattern) || contains(s.Text, v.pattern)
	case "status":
		return glob(v.pattern, s.State)
	case "drift":
		return s.Drift == (v.text == "yes")
	case "changed":
		age := f.Now.Sub(s.Changed)
		return !s.Changed.IsZero() && (age < v.age) == (v.than == "<")
	case "ns":
		return glob(v.pattern, s.Namespace)
	case "name":
		return glob(v.pattern, s.Name)
	case "label":
		name, want, has := strings.Cut(v.pattern, "=")
		if !has {
			want = "*"
		}
		return hasLabel(s.Labels, name, want)
	case "source":
		return s.Source != "" && anyEnd(v.pattern, s.Source)
	case "tenant":
		return s.Tenant != "" && anyEnd(v.pattern, s.Tenant)
	case "cause":
		return s.Cause != "" && glob(v.pattern, s.Cause)
	}
	return f.Users[v.lookup][s.Namespace+"/"+s.Name]
}

// hasLabel reports whether a label has a value. Its name may lack the prefix.
func hasLabel(labels map[string]string, name, pattern string) bool {
	for key, text := range labels {
		if IsLabel(key, name) && glob(pattern, text) {
			return true
		}
	}
	return false
}

// IsLabel reports whether a label's key is called name, with or without its prefix. "env" is also the
// label environment.
func IsLabel(key, name string) bool {
	if strings.EqualFold(key, name) {
		return true
	}
	short := key[strings.LastIndexByte(key, '/')+1:]
	return strings.EqualFold(short, name) || strings.EqualFold(name, "env") && strings.EqualFold(short, "environment")
}

// anyEnd reports whether the pattern fits the path, or what follows one of its slashes.
func anyEnd(pattern, path string) bool {
	for {
		if glob(pattern, path) {
			return true
		}
		_, rest, found := strings.Cut(path, "/")
		if !found {
			return false
		}
		path = rest
	}
}

// maxText bounds the part of a text that is searched: messages can have thousands of lines.
const maxText = 4096

// contains reports whether text has the pattern, which is in lower case, anywhere.
func contains(text, pattern string) bool {
	text = text[:min(len(text), maxText)]
	if !strings.Contains(pattern, "*") {
		return strings.Contains(strings.ToLower(text), pattern)
	}
	return glob("*"+pattern+"*", text)
}

// glob reports whether a text fits a pattern in lower case, in which * stands for anything. It takes
// time proportional to the product of their lengths at most.
func glob(pattern, text string) bool {
	if !strings.Contains(pattern, "*") {
		return strings.EqualFold(pattern, text)
	}
	text = strings.ToLower(text)
	p, t, star, mark := 0, 0, -1, 0
	for t < len(text) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, mark = p, t
			p++
		case p < len(pattern) && pattern[p] == text[t]:
			p++
			t++
		case star >= 0:
			mark++
			p, t = star+1, mark
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
