// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// redactor replaces sensitive values. A provider that copies its input to a computed attribute
// loses their marks, so every text with a sensitive value, in any encoding, is sensitive.
type redactor struct {
	// own hides the values that the plan marks, given further known secrets.
	own, given *mask.Masker
}

// hides reports whether a text contains a secret.
func (r *redactor) hides(text string) bool { return r.own.Hides(text) || r.given.Hides(text) }

// hidesName is hides for the name of an attribute; common words stay.
func (r *redactor) hidesName(name string) bool {
	return r.own.HidesName(name) || r.given.HidesName(name)
}

// redactor collects the texts of all sensitive values of the plan.
func (s *shown) redactor() *redactor {
	found := mask.New()
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
	return &redactor{own: found.Masker(SensitiveMark)}
}

// collect collects the texts below a mark: true for everything, or an object or list with marks of
// its parts.
func collect(value, mark any, found *mask.Secrets) {
	if mark == nil || mark == false {
		return
	}
	everything := mark == true
	switch v := value.(type) {
	case string:
		if everything {
			found.Add(v)
		}
	case json.Number:
		if everything {
			found.Add(v.String())
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

// part returns the mark of a list's element, attribute that of an object's. A mark that is true
// includes all parts.
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

// values returns both sides of a change, redacted.
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
		// A completely unknown object is null with marks inside.
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
		if r.hidesName(key) {
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

// keys returns sorted keys, so that numbers do not depend on map order.
func keys[V any](object map[string]V) []string { return slices.Sorted(maps.Keys(object)) }
