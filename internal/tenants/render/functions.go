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

// allocation gives a number of a pool.
type allocation func(pool string, least, most int64) (int64, error)

// allowance is what all of a tenant's objects may cost together, in renderings of the most that one
// text may. A template of the size that an API takes, every line of it a template, costs less than
// one.
const allowance = 4

// dialect is how templates of tenants are written: with the functions of all templates, and those
// that the published kinds have beside them. sha1sum is one of the former.
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

// trunc63 cuts a text to what a label of DNS may have, and no character of it in two.
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

// fromJSON reads a text as JSON. What is none is an empty object, as it always was: templates go on
// with defaults.
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

// longest is where numbers begin to be written with an exponent.
const longest = 1e15

// numbered makes float64 of numbers, as JSON has them in Go, and int64 of those that would lose
// digits that way: identifiers.
func numbered(value any) any {
	switch v := value.(type) {
	case json.Number:
		if whole, err := v.Int64(); err == nil && (whole >= longest || whole <= -longest) {
			return whole
		}
		number, err := v.Float64()
		if err != nil {
			return v.String() // it is larger than any
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

// inQuotes puts values in quotes. Sprig's own functions leave out what is not there.
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
	return refuse(function, fmt.Sprintf("there is no value; say what to write instead, as in {{ .x | default \"\" | %s }}", function))
}

// toHCL writes a value as a program has it: a text in quotes, in which nothing is a template of the
// program's.
func toHCL(value any) (string, error) {
	if value == nil {
		return "", noValue("hcl")
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil { // which may quote the value
		return "", refuse("hcl", "this is no text, number, truth, list or map")
	}
	return asHCL.Replace(strings.TrimSuffix(text.String(), "\n")), nil
}

// asHCL makes JSON what it says as HCL, which has templates in texts and lacks two of the escapes.
var asHCL = strings.NewReplacer(`\\`, `\\`, `\b`, `\u0008`, `\f`, `\u000c`, "${", "$${", "%{", "%%{")

// refuse says why a function cannot do anything with what it was given, without showing it.
func refuse(function, reason string) error { return template.Refuse(function + ": " + reason) }

func noNumber(function string, value any) error {
	if value == nil || value == "" {
		hint := function
		if function == "allocate" {
			hint = "int"
		}
		return refuse(function, fmt.Sprintf("there is no number; say what to take instead, as in {{ .x | default \"1\" | %s }}", hint))
	}
	return refuse(function, "this is no number")
}

// toInt makes a whole number of a text or of another number, whose fraction goes.
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
	// The first float64 that is too large for an int64 is 2^63 itself.
	if !ok || number >= -math.MinInt64 || number < math.MinInt64 {
		return 0, noNumber(function, value)
	}
	return int64(number), nil
}

// toFloat makes a number of a text or of another number.
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

// decimal is a number as JSON can write one, so that neither infinity nor what is no number is any.
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

// toBool reads a text or a number as a truth.
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
	return false, refuse("bool", "this is neither true nor false; write true, yes, on or 1, or false, no, off, 0 or nothing")
}

// maxPool is how long a pool's name may be. It is a key in the Tenant.
const maxPool = 63

func allocated(allocate allocation, pool string, least, most any) (int64, error) {
	if pool == "" || len(pool) > maxPool {
		return 0, refuse("allocate", fmt.Sprintf("a pool has a name of 1 to %d bytes, as in {{ allocate \"redis\" 0 15 }}", maxPool))
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
		return 0, refuse("allocate", fmt.Sprintf("there is no number from %d to %d", from, to))
	}
	number, err := allocate(pool, from, to)
	if err != nil {
		return 0, template.Refuse(err.Error())
	}
	return number, nil
}
