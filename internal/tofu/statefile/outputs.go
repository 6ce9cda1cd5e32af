// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statefile

import (
	"encoding/json"
	"fmt"

	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// PrintedOutput is an output as printed by `tofu output -json`.
type PrintedOutput struct {
	// Value is the value's JSON with exactly the white space of the printed document, as
	// tofu-controller stores it; for a string, the string itself.
	Value []byte
	// Type is the type's JSON, likewise.
	Type      []byte
	Sensitive bool
	IsString  bool
}

// printed is one entry of the printed document.
type printed struct {
	Sensitive bool            `json:"sensitive"`
	Type      json.RawMessage `json:"type"`
	Value     json.RawMessage `json:"value"`
}

// PrintedOutputs returns the outputs exactly as `tofu output -json` prints them, without running
// it. It formats and parses the whole document, because a value's indentation depends on its depth.
func (f *File) PrintedOutputs() (map[string]PrintedOutput, error) {
	document := make(map[string]printed, len(f.Outputs))
	for name, output := range f.Outputs {
		entry, err := output.print()
		if err != nil {
			return nil, fmt.Errorf("read output %q of a state: %w", name, err)
		}
		document[name] = entry
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("print the outputs of a state: %w", withoutContent(err))
	}
	return ParsePrinted(text)
}

// ParsePrinted parses the output of `tofu output -json`, for states that only tofu can read. It
// keeps the exact bytes of values and types.
func ParsePrinted(document []byte) (map[string]PrintedOutput, error) {
	var entries map[string]printed
	if err := json.Unmarshal(document, &entries); err != nil {
		return nil, fmt.Errorf("read the printed outputs: %w", withoutContent(err))
	}
	all := make(map[string]PrintedOutput, len(entries))
	for name, entry := range entries {
		output := PrintedOutput{Value: entry.Value, Type: entry.Type, Sensitive: entry.Sensitive}
		var text string
		if string(entry.Type) == `"string"` && json.Unmarshal(entry.Value, &text) == nil && string(entry.Value) != "null" {
			output.Value, output.IsString = []byte(text), true
		}
		all[name] = output
	}
	return all, nil
}

// print converts through cty, as tofu does: it orders attributes and normalises numbers. It drops
// cty's errors because they quote values.
func (o Output) print() (printed, error) {
	kind, err := ctyjson.UnmarshalType(o.Type)
	if err != nil {
		return printed{}, fmt.Errorf("its type is unknown to OpenTofu")
	}
	value, err := ctyjson.Unmarshal(o.Value, kind)
	if err != nil {
		return printed{}, fmt.Errorf("its value does not have the type %s", kind.FriendlyName())
	}
	valueJSON, err := ctyjson.Marshal(value, value.Type())
	if err != nil {
		return printed{}, fmt.Errorf("its value cannot be written as JSON")
	}
	typeJSON, err := ctyjson.MarshalType(value.Type())
	if err != nil {
		return printed{}, fmt.Errorf("its type cannot be written as JSON")
	}
	return printed{Sensitive: o.Sensitive, Type: typeJSON, Value: valueJSON}, nil
}
