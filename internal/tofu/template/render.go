// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"text/template"
	"text/template/parse"
)

const (
	// maxSource is the maximum size of a template, maxResult of its result. Files of modules are
	// read up to 2 MiB each.
	maxSource = 1 << 20
	maxResult = 2 << 20
	// maxDepth is the maximum nesting of data.
	maxDepth = 64
)

// File renders a file. name is for messages only.
func File(name string, text []byte, data map[string]any) ([]byte, error) {
	r := &renderer{budget: newBudget(), left: "{{"}
	out, err := r.render(string(text), data)
	if err != nil {
		return nil, err.in(name)
	}
	return out, nil
}

// Rendered is a rendered document.
type Rendered struct {
	JSON json.RawMessage
	// Strings are the results of templates.
	Strings []string
}

// IsDocument reports whether a JSON document contains templates.
func IsDocument(raw []byte) bool { return bytes.Contains(raw, []byte(documentLeft)) }

// documentLeft begins a template in a document; because of its first character YAML does not parse
// the braces.
const documentLeft = "${{"

// Document renders the strings of a JSON document, including keys of objects. field is its
// position, for messages.
func Document(field string, raw []byte, data map[string]any) (*Rendered, error) {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, &Error{Where: field, Reason: "it is not valid JSON"}
	}
	d := Dialect{Left: documentLeft}.document(data, nil)
	value, failed := d.walk(value, field)
	if failed != nil {
		return nil, failed
	}
	out, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", field, err)
	}
	return &Rendered{JSON: out, Strings: d.strings}, nil
}

type document struct {
	renderer
	data    map[string]any
	strings []string
	// path is the current position: keys of objects, and "" for an element of a list.
	path []string
	// textOnly reports where a result stays text.
	textOnly func(path []string) bool
}

// walk renders in a fixed order, so that the first error is always the same.
func (d *document) walk(value any, where string) (any, *Error) {
	switch v := value.(type) {
	case string:
		return d.value(v, where)
	case []any:
		return d.list(v, where)
	case map[string]any:
		return d.object(v, where)
	}
	return value, nil
}

func (d *document) list(list []any, where string) (any, *Error) {
	if err := d.tooDeep(where); err != nil {
		return nil, err
	}
	out := make([]any, len(list))
	d.path = append(d.path, "")
	defer func() { d.path = d.path[:len(d.path)-1] }()
	for i, item := range list {
		var err *Error
		if out[i], err = d.walk(item, fmt.Sprintf("%s[%d]", where, i)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// maxLevels is the maximum nesting of a document: more than any schema has.
const maxLevels = 256

func (d *document) tooDeep(where string) *Error {
	if len(d.path) < maxLevels {
		return nil
	}
	return &Error{Where: strings.ToValidUTF8(where[:min(len(where), maxLevels)], "") + "…", Reason: fmt.Sprintf("it is nested more than %d levels deep", maxLevels)}
}

func (d *document) object(object map[string]any, where string) (any, *Error) {
	if err := d.tooDeep(where); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(object))
	for _, name := range sortedKeys(object) {
		shown, err := d.text(name, where)
		if err != nil {
			return nil, err
		}
		if _, twice := out[shown]; twice {
			return nil, &Error{Where: where, Data: true, Reason: fmt.Sprintf("the name %q renders to one that exists already", name)}
		}
		d.path = append(d.path, shown)
		out[shown], err = d.walk(object[name], where+"."+name)
		d.path = d.path[:len(d.path)-1]
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// value renders a string. If it is nothing but one action that returns a list or a map, or a
// dialect's type, the value itself replaces it: its text would be in Go's notation.
func (d *document) value(text, where string) (any, *Error) {
	if !strings.Contains(text, d.left) {
		return text, nil
	}
	out, sole, err := d.execute(text, d.data)
	if err != nil {
		return nil, placed(err, text, where)
	}
	asText := d.textOnly != nil && d.textOnly(d.path)
	if asText || !structured(sole) {
		d.strings = append(d.strings, string(out))
		switch sole.(type) {
		case bool, int64, float64:
			if !asText {
				return sole, nil
			}
		}
		return string(out), nil
	}
	var plain any
	encoded, failed := json.Marshal(sole)
	if failed == nil {
		decoder := json.NewDecoder(bytes.NewReader(encoded))
		decoder.UseNumber()
		failed = decoder.Decode(&plain)
	}
	if failed != nil { // the error may quote the data
		return nil, &Error{Where: where, Data: true, Reason: "its result cannot be written as JSON"}
	}
	d.strings = leaves(plain, d.strings)
	return plain, nil
}

// structured reports whether a value is a list or a map.
func structured(value any) bool {
	switch t := reflect.TypeOf(value); {
	case t == nil:
		return false
	case t.Kind() == reflect.Slice:
		return t.Elem().Kind() != reflect.Uint8
	default:
		return t.Kind() == reflect.Map
	}
}

// leaves returns the texts and numbers in a value, in a fixed order.
func leaves(value any, found []string) []string {
	switch v := value.(type) {
	case string:
		found = append(found, v)
	case json.Number:
		found = append(found, v.String())
	case []any:
		for _, item := range v {
			found = leaves(item, found)
		}
	case map[string]any:
		for _, name := range sortedKeys(v) {
			found = leaves(v[name], found)
		}
	}
	return found
}

// placed adds the field, and the line if it has several, to an error.
func placed(err *Error, text, where string) *Error {
	if err.place != "" && strings.Contains(text, "\n") {
		where += ":" + err.place
	}
	return &Error{Where: where, Reason: err.Reason, Data: err.Data}
}

func (d *document) text(text, where string) (string, *Error) {
	if !strings.Contains(text, d.left) {
		return text, nil
	}
	out, err := d.render(text, d.data)
	if err != nil {
		return "", placed(err, text, where)
	}
	d.strings = append(d.strings, string(out))
	return string(out), nil
}

// renderer renders templates with one budget.
type renderer struct {
	budget *budget
	left   string
	// own are the dialect's functions, and types those whose results keep their type.
	own   map[string]any
	types map[string]bool
}

// right ends an action in every dialect.
const right = "}}"

func (r *renderer) render(text string, data map[string]any) ([]byte, *Error) {
	out, _, err := r.execute(text, data)
	return out, err
}

// execute renders a template. If it is only one action that returns a list or a map, or only the
// result of one of the dialect's types, sole is that value.
func (r *renderer) execute(text string, data map[string]any) (result []byte, sole any, failed *Error) {
	if len(text) > maxSource {
		return nil, nil, &Error{Reason: fmt.Sprintf("the template has %d bytes; the limit is %d", len(text), maxSource)}
	}
	trees, err := parse.Parse(templateName, text, r.left, right, known(), r.own)
	if err != nil {
		return nil, nil, parseError(err)
	}
	alone, typed := soleAction(trees[templateName].Root), r.types != nil && soleCall(trees[templateName].Root, r.types)
	parsed := template.New(templateName).Funcs(r.budget.functions(words(text), r.own))
	for name, tree := range trees {
		instrument(tree)
		if _, err := parsed.AddParseTree(name, tree); err != nil {
			return nil, nil, parseError(err)
		}
	}
	var out bounded
	r.budget.shown, r.budget.shows = nil, 0
	err = r.budget.catch(func() error {
		// Functions such as set modify their arguments.
		return parsed.Execute(&out, r.budget.copyOf(data, 0))
	})
	if err != nil {
		return nil, nil, executionError(err)
	}
	switch shown := r.budget.shown; {
	case typed && r.budget.shows == 1, alone && structured(shown):
		sole = shown
	}
	return out.Bytes(), sole, nil
}

// templateName is the name of our templates in text/template's errors. Others do not use it.
const templateName = "yuba_text"

// bounded is a buffer of at most maxResult bytes.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > maxResult {
		return 0, &refusal{fmt.Sprintf("the result has more than %d bytes", maxResult)}
	}
	return b.Buffer.Write(p)
}
