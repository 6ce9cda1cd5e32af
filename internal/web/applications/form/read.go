// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package form

import (
	"encoding/json"
	"net/url"
	"strconv"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/yuba-dev/yuba/internal/applications/schema"
)

// Read returns the spec that a person wrote, and the problems by the paths of their fields; none if
// everything could be read.
func Read(fields []schema.Field, values url.Values) (spec map[string]any, problems map[string]string) {
	problems = map[string]string{}
	return read(fields, values, problems), problems
}

func read(fields []schema.Field, values url.Values, problems map[string]string) map[string]any {
	spec := map[string]any{}
	for _, f := range fields {
		if kindOf(f) == Group {
			// An object that nobody filled in is left out, unless the API would complain about that.
			if inner := read(f.Fields, values, problems); len(inner) > 0 || f.Required {
				spec[f.Name] = inner
			}
			continue
		}
		written := values.Get(prefix + f.Path)
		if strings.TrimSpace(written) == "" {
			continue
		}
		value, problem := valueOf(f, written)
		if problem != "" {
			problems[f.Path] = problem
			continue
		}
		spec[f.Name] = value
	}
	return spec
}

func valueOf(f schema.Field, written string) (value any, problem string) {
	switch kindOf(f) {
	case Choice:
		return chosen(f, written)
	case Number:
		return number(f, strings.TrimSpace(written))
	case Text:
		return line(f, written), ""
	}
	if err := yaml.UnmarshalStrict([]byte(written), &value); err != nil {
		return nil, "This is no YAML: " + strings.TrimPrefix(err.Error(), "error converting YAML to JSON: ") + "."
	}
	return value, ""
}

// chosen is the value behind an option.
func chosen(f schema.Field, written string) (any, string) {
	for _, v := range f.Values {
		if text(v) == written {
			return decoded(v), ""
		}
	}
	if yes, err := strconv.ParseBool(written); err == nil && len(f.Values) == 0 {
		return yes, ""
	}
	return nil, "Choose one of the values in the list."
}

func number(f schema.Field, written string) (any, string) {
	if whole, err := strconv.ParseInt(written, 10, 64); err == nil {
		return whole, ""
	}
	if f.Type == "integer" {
		return nil, "Write a whole number."
	}
	// JSON has no infinities.
	if n, err := strconv.ParseFloat(written, 64); err == nil && json.Valid([]byte(written)) {
		return n, ""
	}
	return nil, "Write a number, such as 1.5."
}

// line is a text. One in quotes is read as JSON, so that an empty one can be written.
func line(f schema.Field, written string) any {
	if quoted(written) {
		var s string
		if json.Unmarshal([]byte(written), &s) == nil {
			return s
		}
	}
	if f.Type == "integer or string" {
		if whole, err := strconv.ParseInt(strings.TrimSpace(written), 10, 64); err == nil {
			return whole
		}
	}
	return written
}

func quoted(text string) bool { return len(text) >= 2 && text[0] == '"' && text[len(text)-1] == '"' }

func decoded(raw json.RawMessage) (value any) {
	// A whole number stays one.
	if whole, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return whole
	}
	if json.Unmarshal(raw, &value) != nil {
		return nil // it comes from a schema, which is JSON
	}
	return value
}
