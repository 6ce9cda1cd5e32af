// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package inputs

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
)

// Mask is printed instead of a value.
const Mask = "(sensitive value)"

// Value is text that cannot be printed accidentally: every way of formatting it prints the mask.
type Value struct{ text string }

// NewValue wraps text.
func NewValue(text string) Value { return Value{text} }

// Reveal returns the text.
func (v Value) Reveal() string { return v.text }

// String returns the mask.
func (Value) String() string { return Mask }

// GoString returns the mask.
func (Value) GoString() string { return Mask }

// Format writes the mask for every verb.
func (Value) Format(s fmt.State, _ rune) { io.WriteString(s, Mask) } //nolint:errcheck // fmt ignores it as well

// MarshalText returns the mask.
func (Value) MarshalText() ([]byte, error) { return []byte(Mask), nil }

// MarshalJSON returns the mask.
func (Value) MarshalJSON() ([]byte, error) { return json.Marshal(Mask) }

// LogValue returns the mask.
func (Value) LogValue() slog.Value { return slog.StringValue(Mask) }
