// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package document

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Output is the value of an output.
type Output struct {
	// Gone is set if the configuration does not have the output any more.
	Gone bool
	// Sensitive is set if a part of the value is; OpenTofu does not say which.
	Sensitive bool
	// Value may be unknown in part if it is planned.
	Value cty.Value
}

// Planned reads an output from the output_changes of `tofu show -json PLAN`. Lists and objects have
// the types of JSON there: tuples and objects.
func Planned(change json.RawMessage) (Output, error) {
	var c struct {
		Actions        []string        `json:"actions"`
		After          json.RawMessage `json:"after"`
		AfterUnknown   json.RawMessage `json:"after_unknown"`
		AfterSensitive json.RawMessage `json:"after_sensitive"`
	}
	if err := decode(change, &c); err != nil {
		return Output{}, fmt.Errorf("read a planned output: %w", err)
	}
	if slices.Equal(c.Actions, []string{"delete"}) {
		return Output{Gone: true}, nil
	}
	after, err := tree(c.After)
	if err != nil {
		return Output{}, fmt.Errorf("read a planned output's value: %w", err)
	}
	unknown, err := tree(c.AfterUnknown)
	if err != nil {
		return Output{}, fmt.Errorf("read what is unknown of a planned output: %w", err)
	}
	value, err := merge(after, unknown)
	if err != nil {
		return Output{}, fmt.Errorf("read a planned output: %w", err)
	}
	sensitive := len(c.AfterSensitive) > 0 && !slices.Contains([]string{"false", "null", "{}", "[]"}, string(bytes.TrimSpace(c.AfterSensitive)))
	return Output{Sensitive: sensitive, Value: value}, nil
}

// Published reads an output of `tofu output -json`, or of a state.
func Published(output json.RawMessage) (Output, error) {
	var o struct {
		Sensitive bool            `json:"sensitive"`
		Type      json.RawMessage `json:"type"`
		Value     json.RawMessage `json:"value"`
	}
	if err := decode(output, &o); err != nil {
		return Output{}, fmt.Errorf("read an output: %w", err)
	}
	ty, err := ctyjson.UnmarshalType(o.Type)
	if err != nil {
		return Output{}, fmt.Errorf("read the type of an output: %w", err)
	}
	if ty == cty.DynamicPseudoType { // only null is of this type
		o.Value = json.RawMessage("null")
	}
	value, err := ctyjson.Unmarshal(o.Value, ty)
	if err != nil {
		return Output{}, fmt.Errorf("read the value of an output: %w", err)
	}
	return Output{Sensitive: o.Sensitive, Value: value}, nil
}

// Parse reads a JSON document, such as a kept revision. Lists and objects are tuples and objects.
func Parse(text []byte) (cty.Value, error) {
	if err := measure(text); err != nil {
		return cty.NilVal, fmt.Errorf("read a JSON document: %w", err)
	}
	t, err := tree(text)
	if err != nil {
		return cty.NilVal, fmt.Errorf("read a JSON document: %w", err)
	}
	return merge(t, nil)
}

// decode reads one foreign document.
func decode(text []byte, into any) error {
	if err := measure(text); err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// tree reads JSON whose numbers keep their digits. No text is null.
func tree(text json.RawMessage) (any, error) {
	if len(text) == 0 {
		return nil, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var t any
	if err := decoder.Decode(&t); err != nil {
		return nil, err
	}
	if decoder.More() {
		return nil, errors.New("there is more than one JSON value")
	}
	return t, nil
}

// merge returns a value with its unknown parts: OpenTofu omits unknown attributes, writes unknown
// elements as null, and marks both with true beside.
func merge(value, unknown any) (cty.Value, error) {
	if unknown == true {
		return cty.DynamicVal, nil
	}
	switch v := value.(type) {
	case string:
		return cty.StringVal(v), nil
	case bool:
		return cty.BoolVal(v), nil
	case json.Number:
		return cty.ParseNumberVal(v.String())
	case map[string]any:
		marks, _ := unknown.(map[string]any)
		return mergeObject(v, marks)
	case []any:
		marks, _ := unknown.([]any)
		return mergeList(v, marks)
	}
	// A value whose parts are all unknown is omitted itself.
	switch marks := unknown.(type) {
	case map[string]any:
		if len(marks) > 0 {
			return mergeObject(nil, marks)
		}
	case []any:
		if len(marks) > 0 {
			return mergeList(nil, marks)
		}
	}
	return cty.NullVal(cty.DynamicPseudoType), nil
}

func mergeObject(value, unknown map[string]any) (cty.Value, error) {
	members := make(map[string]cty.Value, len(value)+len(unknown))
	for name, part := range value {
		member, err := merge(part, unknown[name])
		if err != nil {
			return cty.NilVal, err
		}
		members[name] = member
	}
	for name, mark := range unknown {
		if _, known := value[name]; known {
			continue
		}
		member, err := merge(nil, mark)
		if err != nil {
			return cty.NilVal, err
		}
		members[name] = member
	}
	return cty.ObjectVal(members), nil
}

func mergeList(value, unknown []any) (cty.Value, error) {
	elements := make([]cty.Value, max(len(value), len(unknown)))
	for i := range elements {
		var part, mark any
		if i < len(value) {
			part = value[i]
		}
		if i < len(unknown) {
			mark = unknown[i]
		}
		var err error
		if elements[i], err = merge(part, mark); err != nil {
			return cty.NilVal, err
		}
	}
	return cty.TupleVal(elements), nil
}
