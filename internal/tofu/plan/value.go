// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Kind is the kind of a value.
type Kind int

// The kinds. Unknown and Sensitive replace absent values.
const (
	Null Kind = iota
	Bool
	Number
	Text
	List
	Object
	Unknown
	Sensitive
)

// Value is a redacted value in a plan: JSON in which {"$unknown": true} is a value unknown before
// the apply, and {"$sensitive": N} a removed one, with equal N for equal values in one change. Keys
// that begin with "$" get another one.
type Value struct {
	kind   Kind
	text   string // Bool, Number, Text
	list   []Value
	object map[string]Value
	number int // Sensitive: distinguishes values of one change
}

// Kind returns the kind of the value.
func (v Value) Kind() Kind { return v.kind }

// Elements returns a list's elements. Do not modify them.
func (v Value) Elements() []Value { return v.list }

// Attributes returns an object's attributes. Do not modify them.
func (v Value) Attributes() map[string]Value { return v.object }

// Equal reports whether two values are equal. An unknown value is not equal to anything, not even
// another unknown one.
func (v Value) Equal(w Value) bool {
	if v.kind != w.kind || v.kind == Unknown || v.text != w.text || v.number != w.number ||
		len(v.list) != len(w.list) || len(v.object) != len(w.object) {
		return false
	}
	for i := range v.list {
		if !v.list[i].Equal(w.list[i]) {
			return false
		}
	}
	for key, element := range v.object {
		other, ok := w.object[key]
		if !ok || !element.Equal(other) {
			return false
		}
	}
	return true
}

// MarshalJSON writes the form described at Value.
func (v Value) MarshalJSON() ([]byte, error) {
	switch v.kind {
	case Null:
		return []byte("null"), nil
	case Bool, Number:
		return []byte(v.text), nil
	case Text:
		return json.Marshal(v.text)
	case Unknown:
		return []byte(`{"$unknown":true}`), nil
	case Sensitive:
		return []byte(`{"$sensitive":` + strconv.Itoa(v.number) + `}`), nil
	case List:
		if len(v.list) == 0 {
			return []byte("[]"), nil
		}
		return json.Marshal(v.list)
	}
	object := make(map[string]Value, len(v.object))
	for key, element := range v.object {
		if strings.HasPrefix(key, "$") {
			key = "$" + key
		}
		object[key] = element
	}
	return json.Marshal(object)
}

// UnmarshalJSON parses the form that MarshalJSON writes.
func (v *Value) UnmarshalJSON(raw []byte) error {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var tree any
	if err := decoder.Decode(&tree); err != nil {
		return err
	}
	var err error
	*v, err = fromTree(tree)
	return err
}

func fromTree(tree any) (Value, error) {
	switch t := tree.(type) {
	case []any:
		v := Value{kind: List}
		for _, element := range t {
			child, err := fromTree(element)
			if err != nil {
				return Value{}, err
			}
			v.list = append(v.list, child)
		}
		return v, nil
	case map[string]any:
		return fromObject(t)
	}
	return scalar(tree), nil
}

func fromObject(tree map[string]any) (Value, error) {
	v := Value{kind: Object, object: make(map[string]Value, len(tree))}
	for key, element := range tree {
		switch {
		case key == "$unknown":
			return Value{kind: Unknown}, nil
		case key == "$sensitive":
			number, ok := element.(json.Number)
			if !ok {
				return Value{}, errors.New("a sensitive value without its number")
			}
			n, err := strconv.Atoi(number.String())
			if err != nil {
				return Value{}, fmt.Errorf("a sensitive value's number: %w", err)
			}
			return Value{kind: Sensitive, number: n}, nil
		case strings.HasPrefix(key, "$"):
			key = key[1:]
		}
		child, err := fromTree(element)
		if err != nil {
			return Value{}, err
		}
		v.object[key] = child
	}
	return v, nil
}

// scalar converts a value that encoding/json has decoded with UseNumber.
func scalar(tree any) Value {
	switch t := tree.(type) {
	case bool:
		return Value{kind: Bool, text: strconv.FormatBool(t)}
	case json.Number:
		return Value{kind: Number, text: t.String()}
	case string:
		return Value{kind: Text, text: t}
	}
	return Value{}
}
