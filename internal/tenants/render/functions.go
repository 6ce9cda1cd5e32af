// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// allocation returns a number of a pool.
type allocation func(pool string, least, most int64) (int64, error)

// allowance limits all objects of a tenant together, in multiples of the limit of one text. The
// largest template that an API accepts needs less than one.
// one.
const allowance = 4

// dialect adds the published functions to those of all templates, which have sha1sum already.
func dialect(allocate allocation) template.Dialect {
	return template.Dialect{Left: "{{", Purse: template.NewPurse(allowance), Types: []string{"int", "float", "bool"}, Functions: map[string]any{
		"toHost":   row.Host,
		"trunc63":  trunc63,
		"fromJson": fromJSON,
		"hcl":      toHCL,
		"quote":    func(values ...any) (string, error) { return inQuotes("quote", strconv.Quote, values) },
		"squote": func(values ...any) (string, error) {
			return inQuotes("squote", func(s string) string { return "'" + s + "'" }, values)
		},
		"int":      toInt,
		"float":    toFloat,
		"bool":     toBool,
		"allocate": func(pool string, least, most any) (int64, error) { return allocated(allocate, pool, least, most) },
	}}
}

// trunc63 shortens a text to the length of a DNS label, between characters.
func trunc63(text string) string {
	const most = 63
	if len(text) <= most {
		return text
	}
	end := most
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}

// fromJSON parses JSON. Invalid JSON is an empty object, as published: templates then use defaults.
func fromJSON(text string) any {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return map[string]any{}
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return map[string]any{}
	}
	return numbered(value)
}

// longest is where numbers get an exponent.
const longest = 1e15

// numbered converts numbers to float64, as JSON does in Go, but identifiers that would lose digits
// to int64.
func numbered(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil && (whole >= longest || whole <= -longest) {
			return whole
		}
		number, err := v.Float64()
		if err != nil {
			return v.String() // larger than int64
		}
		return number
	case []any:
		for i, item := range v {
			v[i] = numbered(item)
		}
	case map[string]any:
		for name, item := range v {
			v[name] = numbered(item)
		}
	}
	return value
}

// inQuotes quotes values. Sprig's own functions omit nil.
func inQuotes(function string, quote func(string) string, values []any) (string, error) {
	texts := make([]string, len(values))
	for i, value := range values {
		if value == nil {
			return "", noValue(function)
		}
		texts[i] = quote(fmt.Sprint(value))
	}
	return strings.Join(texts, " "), nil
}

func noValue(function string) error {
	return refuse(function, fmt.Sprintf("the value is missing; set a default, as in {{ .x | default \"\" | %s }}", function))
}

// toHCL formats a value as an HCL literal; texts are quoted and their templates escaped.
func toHCL(value any) (string, error) {
	if value == nil {
		return "", noValue("hcl")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // the error may quote the value
		return "", refuse("hcl", "the value is not a text, number, boolean, list or map")
	}
	return asHCL.Replace(strings.TrimSuffix(text.String(), "\n")), nil
}

// asHCL converts JSON to HCL, which has templates in texts and lacks two of the escapes.
var asHCL = strings.NewReplacer(`\\`, `\\`, `\b`, `\u0008`, `\f`, `\u000c`, "${", "$${", "%{", "%%{")

// refuse is a function's error about an argument, without its value.
func refuse(function, reason string) error { return template.Refuse(function + ": " + reason) }

func noNumber(function string, value any) error {
	if value == nil || value == "" {
		hint := function
		if function == "allocate" {
			hint = "int"
		}
		return refuse(function, fmt.Sprintf("the number is missing; set a default, as in {{ .x | default \"1\" | %s }}", hint))
	}
	return refuse(function, "the value is not a number")
}

// toInt converts a text or number to an integer, and truncates it.
func toInt(value any) (int64, error) { return integer("int", value) }

func integer(function string, value any) (int64, error) {
	switch v := value.(type) {
	case bool:
		if v {
			return 1, nil
		}
		return 0, nil
	case string:
		if whole, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
			return whole, nil
		}
	default:
		if number := reflect.ValueOf(value); number.IsValid() && number.CanInt() {
			return number.Int(), nil
		}
	}
	number, ok := decimal(value)
	// 2^63 is the first float64 that is too large for int64.
	if !ok || number >= -math.MinInt64 || number < math.MinInt64 {
		return 0, noNumber(function, value)
	}
	return int64(number), nil
}

// toFloat converts a text or number to a float.
func toFloat(value any) (float64, error) {
	if truth, ok := value.(bool); ok {
		if truth {
			return 1, nil
		}
		return 0, nil
	}
	number, ok := decimal(value)
	if !ok {
		return 0, noNumber("float", value)
	}
	return number, nil
}

// decimal parses a number in JSON's notation, which excludes infinity and NaN.
func decimal(value any) (float64, bool) {
	var number float64
	switch v := reflect.ValueOf(value); {
	case !v.IsValid():
		return 0, false
	case v.Kind() == reflect.String:
		parsed, err := strconv.ParseFloat(strings.TrimSpace(v.String()), 64)
		if err != nil {
			return 0, false
		}
		number = parsed
	case v.CanInt():
		number = float64(v.Int())
	case v.CanUint():
		number = float64(v.Uint())
	case v.CanFloat():
		number = v.Float()
	default:
		return 0, false
	}
	return number, !math.IsNaN(number) && !math.IsInf(number, 0)
}

// toBool converts a text or number to a boolean.
func toBool(value any) (bool, error) {
	if truth, ok := value.(bool); ok {
		return truth, nil
	}
	if text, ok := value.(string); ok {
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "true", "t", "yes", "y", "on", "1":
			return true, nil
		case "false", "f", "no", "n", "off", "0", "":
			return false, nil
		}
	}
	if number, ok := decimal(value); ok {
		return number != 0, nil
	}
	return false, refuse("bool", "the value is neither true nor false; write true, yes, on or 1, or false, no, off, 0 or nothing")
}

// maxPool limits a pool's name, which is a key in the Tenant.
const maxPool = 63

func allocated(allocate allocation, pool string, least, most any) (int64, error) {
	if pool == "" || len(pool) > maxPool {
		return 0, refuse("allocate", fmt.Sprintf("the name of a pool must have 1 to %d bytes, as in {{ allocate \"redis\" 0 15 }}", maxPool))
	}
	from, err := integer("allocate", least)
	if err != nil {
		return 0, err
	}
	to, err := integer("allocate", most)
	if err != nil {
		return 0, err
	}
	if from > to {
		return 0, refuse("allocate", fmt.Sprintf("the range from %d to %d is empty", from, to))
	}
	number, err := allocate(pool, from, to)
	if err != nil {
		return 0, template.Refuse(err.Error())
	}
	return number, nil
}
