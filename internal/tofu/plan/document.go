// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/yuba-dev/yuba/internal/kit/mask"
)

// Redact removes the sensitive values from `tofu show -json` of a saved plan and keeps its schema,
// for policies and webhooks: [SensitiveMark] replaces each, of any type. given hides further
// secrets, such as variables from a Secret. The returned masker hides the marked values in texts.
func Redact(show []byte, given *mask.Masker) (document []byte, own *mask.Masker, err error) {
	decoder := json.NewDecoder(bytes.NewReader(show))
	decoder.UseNumber()
	var plan map[string]any
	if err := decoder.Decode(&plan); err != nil || plan == nil {
		return nil, nil, errors.New("redact the plan: the tool's description of it is not a JSON object")
	}
	found := mask.New()
	sensitiveVariable := declaredSensitive(plan)
	for name, v := range field(plan, "variables") {
		collect(v, sensitiveVariable(name), found)
	}
	collectMarked(plan, found)
	r := &redactor{own: found.Masker(SensitiveMark), given: given}
	if document, err = encode(r.whole(plan, sensitiveVariable)); err != nil {
		return nil, nil, fmt.Errorf("redact the plan: %w", err)
	}
	return document, r.own, nil
}

// declaredSensitive reports which variables are declared as sensitive; the document does not say so
// beside their values.
func declaredSensitive(plan map[string]any) func(name string) bool {
	declared := field(field(field(plan, "configuration"), "root_module"), "variables")
	return func(name string) bool { return field(declared, name)["sensitive"] == true }
}

func field(object map[string]any, name string) map[string]any {
	inner, _ := object[name].(map[string]any)
	return inner
}

// markOf returns the sensitivity mark of a field of an object: true for all of it, or an object or
// list with marks of its parts.
func markOf(object map[string]any, name string) any {
	switch name {
	case "before", "after":
		return object[name+"_sensitive"]
	case "values":
		return object["sensitive_values"]
	case "value":
		return object["sensitive"]
	}
	return nil
}

// collectMarked collects the texts of the sensitive values of a whole document.
func collectMarked(value any, found *mask.Secrets) {
	switch v := value.(type) {
	case []any:
		for _, element := range v {
			collectMarked(element, found)
		}
	case map[string]any:
		for name, element := range v {
			collect(element, markOf(v, name), found)
			collectMarked(element, found)
		}
	}
}

// holdsValues reports which fields contain values or text of the stack. All others belong to the
// schema: a secret with the value "update" must not change the described actions.
func holdsValues(name string) bool {
	switch name {
	case "before", "after", "values", "value", "constant_value", "default", "importing", "message", "generated_config":
		return true
	}
	return false
}

// whole redacts a document.
func (r *redactor) whole(plan map[string]any, sensitiveVariable func(string) bool) any {
	variables := field(plan, "variables")
	for name, v := range variables {
		if variable, ok := v.(map[string]any); ok {
			variable["value"] = r.part(variable["value"], sensitiveVariable(name))
		}
	}
	delete(plan, "variables")
	r.document(plan)
	if variables != nil {
		plan["variables"] = variables
	}
	return plan
}

// document redacts fields of the schema, down to the fields with values.
func (r *redactor) document(value any) any {
	switch v := value.(type) {
	case []any:
		for i, element := range v {
			v[i] = r.document(element)
		}
	case map[string]any:
		for _, name := range keys(v) {
			// The values of a state are resources and outputs, with their own values further down.
			whole := name == "values" && v["sensitive_values"] == nil
			if holdsValues(name) && !whole {
				mark := markOf(v, name)
				if name == "default" { // it may differ from the value; if it is the value, that is marked itself
					mark = v["sensitive"]
				}
				v[name] = r.part(v[name], mark)
			} else {
				v[name] = r.document(v[name])
			}
		}
	}
	return value
}

// part redacts a value and everything in it.
func (r *redactor) part(value, mark any) any {
	if value == nil {
		return nil
	}
	if mark == true {
		return SensitiveMark
	}
	switch v := value.(type) {
	case string:
		if r.hides(v) {
			return SensitiveMark
		}
	case json.Number:
		if r.hides(v.String()) {
			return SensitiveMark
		}
	case []any:
		for i, element := range v {
			v[i] = r.part(element, part(mark, i))
		}
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, element := range v {
			// An output or variable may have the name of a field that contains values; then its own
			// marks are here.
			inner, own := attribute(mark, name), markOf(v, name)
			if inner == nil || own == true {
				inner = own
			}
			shown := name
			if r.hidesName(name) {
				shown = SensitiveMark
			}
			out[shown] = r.part(element, inner)
		}
		return out
	}
	return value
}
