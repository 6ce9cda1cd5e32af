// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package module

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Problem is a missing or unsuitable value.
type Problem struct {
	Variable string   `json:"variable"`
	Pos      Position `json:"pos"`
	// Reason never contains the value.
	Reason string `json:"reason"`
}

// String returns `main.tf:3: variable "n": a number is required`.
func (p Problem) String() string {
	return fmt.Sprintf("%s: variable %q: %s", p.Pos, p.Variable, p.Reason)
}

// Problems are all problems of a set of values.
type Problems []Problem

// Error lists the problems, one on each line.
func (l Problems) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

// CheckVariables compares values with the module's declarations. It returns the values for tofu,
// with strings of JSON parsed; all problems; and warnings about undeclared names, whose values it
// drops. Variables set by the module's files or by env (TF_VAR_NAME) are not missing.
func CheckVariables(m *Module, values map[string]json.RawMessage, env ...string) (map[string]json.RawMessage, Problems, []string) {
	converted := make(map[string]json.RawMessage, len(values))
	var problems Problems
	for _, name := range m.VariableNames() {
		v := m.Variables[name]
		raw, given := values[name]
		if !given {
			if v.Required() && !m.assigned(name, env) {
				problems = append(problems, v.problem("it has neither a value nor a default"+ofType(v)))
			}
			continue
		}
		value, err := v.check(raw)
		if err != nil {
			problems = append(problems, v.problem(err.Error()))
			continue
		}
		converted[name] = value
	}
	return converted, problems, undeclared(m, values)
}

func (m *Module) assigned(name string, env []string) bool {
	_, inFile := m.Assigned[name]
	return inFile || slices.Contains(env, "TF_VAR_"+name)
}

func (v *Variable) problem(reason string) Problem {
	return Problem{Variable: v.Name, Pos: v.Pos, Reason: reason}
}

func ofType(v *Variable) string {
	if v.Type == cty.DynamicPseudoType {
		return ""
	}
	return " (" + v.TypeString() + ")"
}

// typeSuffix is the suffix of keys with types in Secrets with outputs. Reading all keys includes
// them.
const typeSuffix = "__type"

func isTypeOf(name string, values map[string]json.RawMessage) bool {
	of, is := strings.CutSuffix(name, typeSuffix)
	_, there := values[of]
	return is && there
}

func undeclared(m *Module, values map[string]json.RawMessage) []string {
	var warnings []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if m.Variables[name] == nil && !isTypeOf(name, values) {
			warnings = append(warnings, fmt.Sprintf("the module does not declare a variable %q; its value is not used", name))
		}
	}
	return warnings
}

// check returns the value for tofu: unchanged, or parsed if it is a string with JSON of the
// declared type.
func (v *Variable) check(raw json.RawMessage) (json.RawMessage, error) {
	value, err := decode(raw)
	if err != nil {
		return nil, err
	}
	err = v.accepts(value)
	if err == nil {
		return raw, nil
	}
	if value.IsNull() || value.Type() != cty.String {
		return nil, err
	}
	inner := json.RawMessage(value.AsString())
	parsed, decodeErr := decode(inner)
	if decodeErr != nil {
		return nil, err
	}
	if innerErr := v.accepts(parsed); innerErr != nil {
		return nil, innerErr
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, inner); err != nil {
		return nil, errors.New("its value is not valid JSON")
	}
	return compact.Bytes(), nil
}

// TakesEmpty reports whether the variable accepts the empty string.
func (v *Variable) TakesEmpty() bool { return v.accepts(cty.StringVal("")) == nil }

// accepts applies tofu's rules for a root module's variable.
func (v *Variable) accepts(value cty.Value) error {
	if value.IsNull() {
		// Null means the default for a variable with nullable = false.
		if !v.Nullable && !v.HasDefault {
			return errors.New("null is not allowed (nullable = false)")
		}
		return nil
	}
	if v.Defaults != nil {
		value = v.Defaults.Apply(value)
	}
	if _, err := convert.Convert(value, v.Type); err != nil {
		return fmt.Errorf("%s%s", place(err), reason(err, v))
	}
	return nil
}

// valueKey matches map keys, the only part of a value in cty's texts.
var valueKey = regexp.MustCompile(`element "(?:[^"\\]|\\.)*": `)

// reason explains why a conversion fails. cty's texts contain types and declared names; map keys
// are part of the value, so reason and place remove them.
func reason(err error, v *Variable) string {
	text := err.Error()
	var pathErr cty.PathError
	if errors.As(err, &pathErr) {
		text = pathErr.Error()
	}
	text = valueKey.ReplaceAllString(text, "an element: ")
	declared := v.TypeString()
	if len(declared) > 200 || strings.Contains(declared, "\n") {
		return text
	}
	return text + " (declared type: " + declared + ")"
}

// place returns the position of an error in a value: indices and attributes.
func place(err error) string {
	var pathErr cty.PathError
	if !errors.As(err, &pathErr) || len(pathErr.Path) == 0 {
		return ""
	}
	var b strings.Builder
	for _, step := range pathErr.Path {
		switch s := step.(type) {
		case cty.GetAttrStep:
			b.WriteString("." + s.Name)
		case cty.IndexStep:
			if s.Key.Type() == cty.Number && s.Key.IsKnown() {
				b.WriteString("[" + s.Key.AsBigFloat().Text('f', 0) + "]")
			} else {
				b.WriteString("[…]")
			}
		}
	}
	return "in " + b.String() + ": "
}

// decode parses a JSON value as tofu does in a tfvars.json file.
func decode(raw json.RawMessage) (cty.Value, error) {
	if wild := tooWildJSON(raw); wild != "" {
		return cty.NilVal, errors.New("its value is " + wild)
	}
	var value ctyjson.SimpleJSONValue
	if !json.Valid(raw) || value.UnmarshalJSON(raw) != nil {
		return cty.NilVal, errors.New("its value is not valid JSON")
	}
	return value.Value, nil
}
