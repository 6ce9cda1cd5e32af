// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package speculative

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/yuba-dev/yuba/internal/kit/mask"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Planned are the outputs of a stack as a speculative plan would leave them, with sensitive values.
type Planned struct {
	// Stack is the stack that was planned.
	Stack run.Stack
	// Changes are the outputs' changes by name, as in output_changes of `tofu show -json`.
	Changes map[string]json.RawMessage

	outputs map[string]output
}

// output is one planned output.
type output struct {
	// same is true if the plan does not change it, gone if it removes it, unknown if a part of its
	// value is known after the apply only.
	same, gone, unknown bool
	// open is true if it may be shown.
	open  bool
	value json.RawMessage
}

// hidden is printed in place of planned outputs.
const hidden = "(planned outputs)"

// String hides the values.
func (p *Planned) String() string { return hidden }

// GoString hides the values.
func (p *Planned) GoString() string { return hidden }

// Format hides the values for every verb.
func (p *Planned) Format(s fmt.State, _ rune) { io.WriteString(s, hidden) } //nolint:errcheck // fmt ignores it as well

// ReadPlanned reads the planned outputs of a run. What contains one of its secrets is not shown.
func ReadPlanned(stack run.Stack, document []byte, secrets *mask.Masker) (*Planned, error) {
	p := &Planned{Stack: stack, outputs: map[string]output{}}
	if json.Unmarshal(document, &p.Changes) != nil { // its error may quote a value
		return nil, errors.New("read the planned outputs: they are not valid JSON")
	}
	for name, change := range p.Changes {
		o, err := readOutput(change)
		if err != nil {
			return nil, fmt.Errorf("read the planned output %s: %w", name, err)
		}
		o.open = o.open && !secrets.Hides(string(textOf(o.value)))
		p.outputs[name] = o
	}
	return p, nil
}

func readOutput(change json.RawMessage) (output, error) {
	var c struct {
		Actions        []string        `json:"actions"`
		After          json.RawMessage `json:"after"`
		AfterUnknown   json.RawMessage `json:"after_unknown"`
		AfterSensitive json.RawMessage `json:"after_sensitive"`
	}
	if json.Unmarshal(change, &c) != nil {
		return output{}, errors.New("it is not valid JSON")
	}
	return output{same: slices.Equal(c.Actions, []string{"no-op"}), gone: slices.Equal(c.Actions, []string{"delete"}),
		unknown: marked(c.AfterUnknown), open: !marked(c.AfterSensitive), value: c.After}, nil
}

// marked reports whether a document of marks has one. A document that cannot be read counts as one.
func marked(marks json.RawMessage) bool {
	if len(marks) == 0 {
		return false
	}
	var tree any
	return json.Unmarshal(marks, &tree) != nil || hasMark(tree)
}

func hasMark(tree any) bool {
	switch v := tree.(type) {
	case bool:
		return v
	case []any:
		return slices.ContainsFunc(v, hasMark)
	case map[string]any:
		for _, part := range v {
			if hasMark(part) {
				return true
			}
		}
	}
	return false
}

// textOf is a value as it is in a Secret with outputs: a string as it is, and everything else as JSON.
func textOf(value json.RawMessage) []byte {
	var text string
	if json.Unmarshal(value, &text) == nil && isString(value) {
		return []byte(text)
	}
	var compact bytes.Buffer
	if json.Compact(&compact, value) != nil {
		return nil
	}
	return compact.Bytes()
}

func isString(value json.RawMessage) bool {
	return bytes.HasPrefix(bytes.TrimSpace(value), []byte(`"`))
}

// Open reports whether an output may be shown.
func (p *Planned) Open(name string) bool { return p.outputs[name].open }

// Same reports whether the plan leaves an output as it is.
func (p *Planned) Same(name string) bool { return p.outputs[name].same }
