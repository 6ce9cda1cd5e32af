// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// The marks in values.
const (
	// UnknownMark stands for a value that is known after the apply only.
	UnknownMark = `{"$unknown":true}`
	// SensitiveMark stands for a value that must not be shown.
	SensitiveMark = `{"$sensitive":true}`
)

// Unknown and Sensitive are what [Parse] returns for marks.
type (
	// Unknown is a value that is known after the apply only.
	Unknown struct{}
	// Sensitive is a value that is not in the document.
	Sensitive struct{}
)

// Parse returns a value of the document: nil, bool, json.Number, string, []any, map[string]any,
// [Unknown] or [Sensitive].
func Parse(raw json.RawMessage) (any, error) {
	if len(raw) == 0 {
		return nil, nil
	}
	value, err := decode(raw)
	if err != nil {
		return nil, err
	}
	return unmark(value), nil
}

func unmark(value any) any {
	switch v := value.(type) {
	case []any:
		for i := range v {
			v[i] = unmark(v[i])
		}
	case map[string]any:
		switch {
		case v["$unknown"] == true:
			return Unknown{}
		case v["$sensitive"] == true:
			return Sensitive{}
		}
		for _, key := range slices.Collect(maps.Keys(v)) {
			element := unmark(v[key])
			if rest, marked := strings.CutPrefix(key, "$"); marked && strings.HasPrefix(rest, "$") {
				delete(v, key)
				key = rest
			}
			v[key] = element
		}
	}
	return value
}

// decode decodes JSON without losing digits.
func decode(raw []byte) (any, error) {
	var p parser
	return p.decode(raw)
}

// marked reports whether marks have a true anywhere.
func marked(marks any) bool {
	switch m := marks.(type) {
	case bool:
		return m
	case []any:
		return slices.ContainsFunc(m, marked)
	case map[string]any:
		for _, inner := range m {
			if marked(inner) {
				return true
			}
		}
	}
	return false
}

// markOf returns the mark of a part: a mark that is true includes all parts.
func markOf(marks any, key string) any {
	if object, ok := marks.(map[string]any); ok {
		return object[key]
	}
	return marks == true
}

func markAt(marks any, i int) any {
	if list, ok := marks.([]any); ok {
		if i < len(list) {
			return list[i]
		}
		return nil
	}
	return marks == true
}

// length returns how many elements of a list have marks.
func length(marks any) int {
	list, _ := marks.([]any)
	return len(list)
}

// hider replaces sensitive values. A provider that copies its input to a computed attribute loses
// their marks, so every text that contains a sensitive value is sensitive.
type hider struct {
	// own hides the values that the plan marks, given those that the caller knows; nil for none.
	own, given *mask.Masker
	// texts and names are what was found out before: most values and names repeat.
	texts, names map[string]bool
}

// maxRemembered limits what a hider remembers, of at most maxName bytes each. Both sides of a change
// come one after the other.
const maxRemembered = 2000

func (h *hider) hides(text string) bool {
	if h.own == nil && h.given == nil {
		return false
	}
	return remember(&h.texts, text, func() bool {
		return h.own != nil && h.own.Hides(text) || h.given != nil && h.given.Hides(text)
	})
}

func (h *hider) hidesName(name string) bool {
	if h.own == nil && h.given == nil {
		return false
	}
	return remember(&h.names, name, func() bool {
		return h.own != nil && h.own.HidesName(name) || h.given != nil && h.given.HidesName(name)
	})
}

func remember(known *map[string]bool, text string, find func() bool) bool {
	if hidden, there := (*known)[text]; there {
		return hidden
	}
	hidden := find()
	if len(text) <= maxName {
		if *known == nil {
			*known = make(map[string]bool, maxRemembered)
		} else if len(*known) >= maxRemembered {
			clear(*known)
		}
		(*known)[text] = hidden
	}
	return hidden
}

// append writes a value with its marks.
func (h *hider) append(out []byte, value, sensitive, unknown any) []byte {
	if sensitive == true {
		return append(out, SensitiveMark...)
	}
	if unknown == true {
		return append(out, UnknownMark...)
	}
	switch v := value.(type) {
	case bool:
		return strconv.AppendBool(out, v)
	case json.Number:
		if h.hides(v.String()) {
			return append(out, SensitiveMark...)
		}
		return append(out, v...)
	case string:
		if h.hides(v) {
			return append(out, SensitiveMark...)
		}
		return appendText(out, v)
	case []any:
		return h.appendList(out, v, sensitive, unknown)
	case map[string]any:
		return h.appendObject(out, v, sensitive, unknown)
	}
	// An object or list that has unknown parts only is null, with marks inside.
	if marked(unknown) {
		if length(unknown) > 0 {
			return h.appendList(out, nil, sensitive, unknown)
		}
		return h.appendObject(out, nil, sensitive, unknown)
	}
	return append(out, "null"...)
}

func (h *hider) appendList(out []byte, list []any, sensitive, unknown any) []byte {
	out = append(out, '[')
	for i := range max(len(list), length(unknown)) {
		if i > 0 {
			out = append(out, ',')
		}
		var element any
		if i < len(list) {
			element = list[i]
		}
		out = h.append(out, element, markAt(sensitive, i), markAt(unknown, i))
	}
	return append(out, ']')
}

func (h *hider) appendObject(out []byte, object map[string]any, sensitive, unknown any) []byte {
	out = append(out, '{')
	hidden, first := 0, true
	for _, key := range names(object, unknown) {
		if !first {
			out = append(out, ',')
		}
		first = false
		switch {
		case h.hidesName(key):
			hidden++
			out = appendText(out, "$key"+strconv.Itoa(hidden))
		case strings.HasPrefix(key, "$"):
			out = appendText(out, "$"+key)
		default:
			out = appendText(out, key)
		}
		out = append(out, ':')
		out = h.append(out, object[key], markOf(sensitive, key), markOf(unknown, key))
	}
	return append(out, '}')
}

// names returns the keys of an object and of its unknown attributes, sorted.
func names(object map[string]any, unknown any) []string {
	all := make([]string, 0, len(object)+4)
	for key := range object {
		all = append(all, key)
	}
	if marks, ok := unknown.(map[string]any); ok {
		for key, mark := range marks {
			if _, known := object[key]; !known && marked(mark) {
				all = append(all, key)
			}
		}
	}
	slices.Sort(all)
	return all
}

// appendText writes a JSON string, without the escapes for HTML.
func appendText(out []byte, text string) []byte {
	if plain(text) {
		out = append(out, '"')
		out = append(out, text...)
		return append(out, '"')
	}
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(text) != nil {
		return append(out, SensitiveMark...) // impossible: a string always marshals
	}
	return append(out, bytes.TrimSuffix(buffer.Bytes(), []byte("\n"))...)
}

// plain reports whether a text needs no escapes.
func plain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}
