// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"sort"
	"strings"
)

// minSecret is the length from which a sensitive text is also looked for in
// values that are not marked. Shorter ones are everywhere.
const minSecret = 4

// redactor replaces sensitive values. Marks alone do not suffice: a provider
// that copies its input to a computed attribute, as terraform_data does, loses
// them. So whatever contains the text of a sensitive value is sensitive too.
type redactor struct {
	secrets *strings.Replacer
}

// redactor collects the texts of all sensitive values of the plan.
func (s *shown) redactor() *redactor {
	found := map[string]bool{}
	for name, v := range s.Variables {
		if s.Configuration.RootModule.Variables[name].Sensitive {
			collect(v.Value, true, found)
		}
	}
	change := func(c *shownChange) {
		collect(c.Before, c.BeforeSensitive, found)
		collect(c.After, c.AfterSensitive, found)
	}
	for i := range s.ResourceChanges {
		change(&s.ResourceChanges[i].Change)
	}
	for i := range s.ResourceDrift {
		change(&s.ResourceDrift[i].Change)
	}
	for _, c := range s.OutputChanges {
		change(&c)
	}
	pairs := make([]string, 0, 2*len(found))
	for _, text := range keys(found) {
		pairs = append(pairs, text, "")
	}
	return &redactor{strings.NewReplacer(pairs...)}
}

// collect gathers the texts below a mark: true for everything, or an object or
// list with marks for its parts.
func collect(value, mark any, found map[string]bool) {
	if mark == nil || mark == false {
		return
	}
	everything := mark == true
	switch v := value.(type) {
	case string:
		if text := strings.TrimSpace(v); everything && len(text) >= minSecret && text != "true" && text != "false" {
			found[text] = true
		}
	case json.Number:
		if everything && len(v) > minSecret {
			found[v.String()] = true
		}
	case []any:
		for i, element := range v {
			collect(element, part(mark, i), found)
		}
	case map[string]any:
		for key, element := range v {
			collect(element, attribute(mark, key), found)
		}
	}
}

// part is the mark of a list's element, attribute that of an object's. A mark
// that is true holds for all.
func part(mark any, i int) any {
	if list, ok := mark.([]any); ok {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	return mark == true
}

func attribute(mark any, key string) any {
	if object, ok := mark.(map[string]any); ok {
		return object[key]
	}
	return mark == true
}

// values returns both sides of a change as they may be shown.
func (r *redactor) values(c *shownChange) (before, after Value) {
	n := &numbering{}
	before = r.value(c.Before, c.BeforeSensitive, nil, n)
	after = r.value(c.After, c.AfterSensitive, c.AfterUnknown, n)
	return before, after
}

// numbering gives equal sensitive values of one change equal numbers.
type numbering struct{ known map[string]int }

func (n *numbering) sensitive(value any) Value {
	raw, err := json.Marshal(value)
	if err != nil {
		return Value{kind: Sensitive}
	}
	if n.known == nil {
		n.known = map[string]int{}
	}
	number, ok := n.known[string(raw)]
	if !ok {
		number = len(n.known) + 1
		n.known[string(raw)] = number
	}
	return Value{kind: Sensitive, number: number}
}

func (r *redactor) value(value, sensitive, unknown any, n *numbering) Value {
	switch {
	case sensitive == true && unknown == true:
		return n.sensitive(map[string]any{"unknown": len(n.known)})
	case sensitive == true:
		return n.sensitive(value)
	case unknown == true:
		return Value{kind: Unknown}
	}
	switch v := value.(type) {
	case []any:
		return r.list(v, sensitive, unknown, n)
	case map[string]any:
		return r.object(v, sensitive, unknown, n)
	case string:
		if r.hides(v) {
			return n.sensitive(v)
		}
	case json.Number:
		if r.hides(v.String()) {
			return n.sensitive(v)
		}
	case nil:
		// An object of which nothing is known yet is null with marks inside.
		if marks, ok := unknown.(map[string]any); ok && len(marks) > 0 {
			return r.object(nil, sensitive, unknown, n)
		}
	}
	return scalar(value)
}

func (r *redactor) list(list []any, sensitive, unknown any, n *numbering) Value {
	v := Value{kind: List, list: make([]Value, 0, len(list))}
	for i, element := range list {
		v.list = append(v.list, r.value(element, part(sensitive, i), part(unknown, i), n))
	}
	if marks, ok := unknown.([]any); ok {
		for i := len(list); i < len(marks); i++ {
			v.list = append(v.list, r.value(nil, part(sensitive, i), marks[i], n))
		}
	}
	return v
}

func (r *redactor) object(object map[string]any, sensitive, unknown any, n *numbering) Value {
	v := Value{kind: Object, object: make(map[string]Value, len(object))}
	for _, key := range keys(object) {
		shown := key
		if r.hides(key) {
			shown = SensitiveMark
		}
		v.object[shown] = r.value(object[key], attribute(sensitive, key), attribute(unknown, key), n)
	}
	if marks, ok := unknown.(map[string]any); ok {
		for _, key := range keys(marks) {
			if _, known := object[key]; !known && marks[key] == true {
				v.object[key] = r.value(nil, attribute(sensitive, key), true, n)
			}
		}
	}
	return v
}

// hides reports whether a text contains a sensitive one. A replacer looks for
// all of them at once.
func (r *redactor) hides(text string) bool {
	return len(text) >= minSecret && r.secrets.Replace(text) != text
}

// keys returns an object's keys in order, so that numbers do not depend on it.
func keys[V any](object map[string]V) []string {
	names := make([]string, 0, len(object))
	for name := range object {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
