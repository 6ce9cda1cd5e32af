// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/rand"
	"fmt"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/terraform-plugin-go/tftypes"
)

// fields are the attributes and blocks of an object.
type fields map[string]tftypes.Value

// texts are attributes as strings; a list is its first element, and an unknown or missing value is
// "".
type texts map[string]string

func fieldsOf(object tftypes.Value) (fields, error) {
	var f map[string]tftypes.Value
	if err := object.As(&f); err != nil {
		return nil, err
	}
	out := fields{} // a copy, not to change what the request holds
	maps.Copy(out, f)
	return out, nil
}

func textsOf(f fields) texts {
	out := texts{}
	for name, value := range f {
		out[name] = textOf(plain(value))
	}
	return out
}

func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case []any:
		if len(v) == 0 {
			return ""
		}
		return textOf(v[0])
	}
	return fmt.Sprint(value)
}

// plain is a value in the types of encoding/json; nil if it is unknown.
func plain(value tftypes.Value) any {
	if !value.IsKnown() || value.IsNull() {
		return nil
	}
	var (
		word   string
		number big.Float
		truth  bool
		list   []tftypes.Value
		named  map[string]tftypes.Value
	)
	switch {
	case value.As(&word) == nil:
		return word
	case value.As(&number) == nil:
		if n, accuracy := number.Int64(); accuracy == big.Exact {
			return n
		}
		n, _ := number.Float64()
		return n
	case value.As(&truth) == nil:
		return truth
	case value.As(&list) == nil:
		out := []any{}
		for _, item := range list {
			out = append(out, plain(item))
		}
		return out
	case value.As(&named) == nil:
		out := map[string]any{}
		for name, item := range named {
			out[name] = plain(item)
		}
		return out
	}
	return nil
}

// complete fills in the cloud's response: every computed attribute that is not set.
func (k kind) complete(f fields, provider texts) error {
	for name := range k.attributes {
		if err := k.fill(name, f, provider, nil); err != nil {
			return err
		}
	}
	return nil
}

// fill fills in one attribute, after those in its pattern.
func (k kind) fill(name string, f fields, provider texts, on []string) error {
	a := k.attributes[name]
	if !a.computed || f[name].IsKnown() && !f[name].IsNull() {
		return nil
	}
	if slices.Contains(on, name) {
		return fmt.Errorf("the table's pattern of %s needs itself", name)
	}
	for _, found := range hole.FindAllStringSubmatch(a.pattern, -1) {
		if _, ok := k.attributes[found[1]]; ok {
			if err := k.fill(found[1], f, provider, append(on, name)); err != nil {
				return err
			}
		}
	}
	word := ""
	if a.made != nil {
		word = a.made(textsOf(f))
	} else {
		word = expand(a.pattern, textsOf(f), provider)
	}
	value, err := a.valueOf(word)
	if err != nil {
		return fmt.Errorf("the table's pattern of %s: %w", name, err)
	}
	f[name] = value
	return nil
}

// hole matches a placeholder in a pattern: an attribute's name, {random}, or {provider.region} for
// an argument of the provider's block.
var hole = regexp.MustCompile(`\{([a-z0-9_.]+)\}`)

func expand(pattern string, given, provider texts) string {
	return hole.ReplaceAllStringFunc(pattern, func(found string) string {
		name := strings.Trim(found, "{}")
		if name == "random" {
			return strings.ToLower(rand.Text()[:17])
		}
		if argument, ok := strings.CutPrefix(name, "provider."); ok {
			return provider[argument]
		}
		return given[name]
	})
}

// valueOf converts a string to an attribute's value.
func (a attribute) valueOf(word string) (tftypes.Value, error) {
	switch a.shape {
	case text:
		return tftypes.NewValue(tftypes.String, word), nil
	case whole:
		n, err := strconv.ParseInt(word, 10, 64)
		return tftypes.NewValue(tftypes.Number, n), err
	case flag:
		b, err := strconv.ParseBool(word)
		return tftypes.NewValue(tftypes.Bool, b), err
	default:
		return tftypes.Value{}, fmt.Errorf("only words, numbers and flags can be told")
	}
}
