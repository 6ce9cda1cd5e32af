// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package form

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/applications/schema"
)

// The kinds of controls.
const (
	Text   = "text"
	Number = "number"
	Choice = "choice"
	YAML   = "yaml"
	Group  = "group"
)

// Control is a field of a form.
type Control struct {
	// Name is the name of the value, ID that of the element, and Label what a person reads.
	Name, ID, Label string
	// Kind is one of the constants above.
	Kind string
	// Type, Help and Conditions describe the field: "list of string", the author's words, "at least 1".
	Type, Help string
	Conditions []string
	Required   bool
	// Value is the text in it, Hint what holds if it stays empty, Problem why it could not be read.
	Value, Hint, Problem string
	// Options are what can be chosen; Suggested are values that an author suggests for a text.
	Options, Suggested []string
	// Controls are those of a group. Open is true if something in it has a value or a problem.
	Controls []Control
	Open     bool
}

// prefix begins the names of values, so that no field takes the place of another value of the form.
const prefix = "spec."

// Controls returns the controls for fields with the values of a form, and the problems by path.
func Controls(fields []schema.Field, values url.Values, problems map[string]string) []Control {
	controls := make([]Control, 0, len(fields))
	for _, f := range fields {
		c := Control{
			Name: prefix + f.Path, ID: "field-" + f.Path, Label: label(f), Kind: kindOf(f), Type: f.Type, Help: f.Description, Conditions: f.Conditions,
			Required: f.Required, Value: values.Get(prefix + f.Path), Hint: text(f.Default), Problem: problems[f.Path],
		}
		switch c.Kind {
		case Group:
			c.Controls = Controls(f.Fields, values, problems)
			c.Open = f.Required || slices.ContainsFunc(c.Controls, func(c Control) bool { return c.Value != "" || c.Problem != "" || c.Open || c.Required })
		case Choice:
			c.Options = optionsOf(f)
		case Text:
			c.Suggested = suggestedBy(f)
		}
		controls = append(controls, c)
	}
	return controls
}

func label(f schema.Field) string {
	if f.Title != "" {
		return f.Title
	}
	return f.Name
}

func kindOf(f schema.Field) string {
	switch {
	case f.Type == "object" && len(f.Fields) > 0:
		return Group
	case len(f.Values) > 0 || f.Type == "boolean":
		return Choice
	case f.Type == "integer" || f.Type == "number":
		return Number
	case f.Type == "string" || f.Type == "integer or string":
		return Text
	}
	return YAML
}

func optionsOf(f schema.Field) []string {
	if len(f.Values) == 0 {
		return []string{"true", "false"}
	}
	var options []string
	for _, v := range f.Values {
		options = append(options, text(v))
	}
	return options
}

// suggestedBy are the values of x-cozystack-options, if they are a list of texts.
func suggestedBy(f schema.Field) []string {
	var list []string
	if json.Unmarshal(f.Extensions["x-cozystack-options"], &list) != nil {
		return nil
	}
	return list
}

// text is a value as a person writes it into a control.
func text(value json.RawMessage) string {
	if len(value) == 0 {
		return ""
	}
	var s string
	if json.Unmarshal(value, &s) == nil {
		return s
	}
	return string(value)
}

// Values are the values of a form for a spec: what Read returns for them is this spec, as far as the
// fields have it.
func Values(fields []schema.Field, spec map[string]any) url.Values {
	values := url.Values{}
	fill(values, fields, spec)
	return values
}

func fill(values url.Values, fields []schema.Field, spec map[string]any) {
	for _, f := range fields {
		value, is := spec[f.Name]
		if !is {
			continue
		}
		inner, isObject := value.(map[string]any)
		if kindOf(f) == Group && isObject {
			fill(values, f.Fields, inner)
			continue
		}
		values.Set(prefix+f.Path, written(f, value))
	}
}

// written is a value as a person would write it.
func written(f schema.Field, value any) string {
	// What would be read as something else is quoted.
	if s, is := value.(string); is && s != "" && kindOf(f) != YAML && (kindOf(f) == Choice || line(f, s) == value) {
		return s
	}
	if kindOf(f) == YAML {
		if out, err := yaml.Marshal(value); err == nil {
			return strings.TrimSuffix(string(out), "\n")
		}
	}
	out, err := json.Marshal(value)
	if err != nil {
		return ""
	}
	return string(out)
}
