// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"fmt"
	"iter"
	"maps"
	"math"
	"reflect"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
	"sync"
	"text/template"
	"unicode"

	"github.com/Masterminds/sprig/v3"
)

// absent are functions of sprig that templates do not have, with the reason.
var absent = map[string]string{
	"env": surroundings, "expandenv": surroundings, "getHostByName": surroundings,
	"now": clock, "ago": clock, "durationRound": clock,
	"randAlphaNum": chance, "randAlpha": chance, "randAscii": chance, "randNumeric": chance, "randBytes": chance,
	"randInt": chance, "shuffle": chance, "uuidv4": chance, "bcrypt": chance, "htpasswd": chance, "encryptAES": chance,
	"genPrivateKey": chance, "genCA": chance, "genCAWithKey": chance, "genSelfSignedCert": chance,
	"genSelfSignedCertWithKey": chance, "genSignedCert": chance, "genSignedCertWithKey": chance,
	"derivePassword": "it takes too much time and memory",
}

const (
	surroundings = "templates cannot access the server that renders them"
	clock        = "its result depends on the time, so each rendering would be a change"
	chance       = "its result is random, so each rendering would be a change"
)

// sprigFunctions returns all functions of sprig.
var sprigFunctions = sync.OnceValue(sprig.TxtFuncMap)

// builtin are functions of text/template that need no price.
var builtin = []string{"and", "call", "eq", "ge", "gt", "index", "le", "len", "lt", "ne", "not", "or", "slice"}

// known are the names that all templates can call. The parser only checks that a name exists.
var known = sync.OnceValue(func() map[string]any {
	out := map[string]any{}
	for name := range sprigFunctions() {
		out[name] = true
	}
	for name := range replaced {
		out[name] = true
	}
	for _, name := range builtin {
		out[name] = true
	}
	return out
})

// words yields the words of a text that could be names of functions: creating all functions for
// each template takes longer than rendering most templates.
func words(text string) iter.Seq[string] {
	return strings.FieldsFuncSeq(text, func(c rune) bool { return c != '_' && !unicode.IsLetter(c) && !unicode.IsDigit(c) })
}

// functions returns the named functions: the dialect's own, then safe ones of sprig, and those of
// text/template that write or format.
func (b *budget) functions(names iter.Seq[string], own map[string]any) template.FuncMap {
	out := template.FuncMap{
		functionTurn:  b.once(functionTurn, b.turn),
		functionShow:  b.once(functionShow, b.show),
		functionWeigh: b.once(functionWeigh, b.pass),
	}
	for name := range names {
		if known()[name] == nil && own[name] == nil || out[name] != nil {
			continue // not a function
		}
		if function := b.once(name, func() any { return b.function(name, own) }); function != nil {
			out[name] = function
		}
	}
	return out
}

// once creates a function on its first use.
func (b *budget) once(name string, build func() any) any {
	function, ok := b.made[name]
	if !ok {
		function = build()
		b.made[name] = function
	}
	return function
}

// function creates the function of a name; nil if there is none.
func (b *budget) function(name string, own map[string]any) any {
	if function, ok := own[name]; ok {
		return b.paid(function, priceOf(name))
	}
	if why := absent[name]; why != "" {
		return func(...any) (string, error) { return "", &refusal{why} }
	}
	if function, ok := replaced[name]; ok {
		return b.paid(function, priceOf(name))
	}
	if function, ok := sprigFunctions()[name]; ok {
		return b.paid(function, priceOf(name))
	}
	return nil
}

// turn creates the function that is called at the beginning of loops and templates.
func (b *budget) turn() any {
	return func(cost int) string { b.take(int64(cost)); return "" }
}

// show creates the function that receives everything that is written.
func (b *budget) show() any {
	return b.paid(func(source string, value any) (string, error) {
		b.shown = value
		b.shows++
		return showValue(source, value)
	}, nil)
}

// pass creates the function that charges for compared values.
func (b *budget) pass() any {
	return b.paid(func(value any) any { return value }, nil)
}

// replaced are functions whose original has no order, uses now for a missing time, or writes before
// the result can be measured.
var replaced = map[string]any{
	"keys":           sortedKeys,
	"values":         sortedValues,
	"date":           func(format string, at any) (string, error) { return formatTime(format, at, "Local") },
	"htmlDate":       func(at any) (string, error) { return formatTime("2006-01-02", at, "Local") },
	"dateInZone":     formatTime,
	"date_in_zone":   formatTime,
	"htmlDateInZone": func(at any, zone string) (string, error) { return formatTime("2006-01-02", at, zone) },
	"print":          writes("print", fmt.Sprint),
	"println":        writes("println", fmt.Sprintln),
	"html":           writes("html", template.HTMLEscaper),
	"js":             writes("js", template.JSEscaper),
	"urlquery":       writes("urlquery", template.URLQueryEscaper),
	"printf": func(format string, args ...any) (string, error) {
		return writes("printf", func(args ...any) string { return fmt.Sprintf(format, args...) })(args...)
	},
	"toString": func(value any) (string, error) {
		return writes("toString", func(...any) string { return sprigFunctions()["toString"].(func(any) string)(value) })(value)
	},
	"fail": func(message string) (string, error) { return "", &failure{message} },
}

// writes wraps a function that converts anything to text. For missing values it would produce Go's
// words for nil.
func writes(name string, function func(...any) string) func(...any) (string, error) {
	return func(args ...any) (string, error) {
		for _, arg := range args {
			if arg == nil {
				return "", &refusal{name + " is given an argument that has no value; name an alternative, as in (.x | default \"\")"}
			}
		}
		return function(args...), nil
	}
}

// failure is a message that a template composed.
type failure struct{ message string }

func (f *failure) Error() string { return f.message }

func sortedKeys(dicts ...map[string]any) []string {
	names := []string{}
	for _, dict := range dicts {
		names = append(names, slices.Sorted(maps.Keys(dict))...)
	}
	return names
}

func sortedValues(dict map[string]any) []any {
	out := []any{}
	for _, name := range sortedKeys(dict) {
		out = append(out, dict[name])
	}
	return out
}

func formatTime(format string, at any, zone string) (string, error) {
	if !isTime(at) {
		return "", &refusal{errNoTime.Error()}
	}
	function := sprigFunctions()["dateInZone"].(func(string, any, string) string)
	return function(format, at, zone), nil
}

// showValue formats the result of an action. Integers have all their digits: JSON numbers would
// become 1e+06.
func showValue(source string, value any) (string, error) {
	switch v := value.(type) {
	case nil:
		return "", &refusal{source + " has no value"}
	case float64:
		if v == math.Trunc(v) && math.Abs(v) < 1e15 {
			return strconv.FormatFloat(v, 'f', -1, 64), nil
		}
	}
	return fmt.Sprint(value), nil
}

// prices calculate the size of functions' results, where that exceeds a few times their arguments.
var prices = map[string]func(args []reflect.Value) int64{
	"repeat":  func(a []reflect.Value) int64 { return times(number(a[0]), length(a[1])) },
	"indent":  indentPrice,
	"nindent": indentPrice,
	"until":   func(a []reflect.Value) int64 { return times(magnitude(a[0].Int()), elementCost) },
	"untilStep": func(a []reflect.Value) int64 {
		return steps(a[0].Int(), a[1].Int(), a[2].Int())
	},
	"seq":                    seqPrice,
	"replace":                func(a []reflect.Value) int64 { return times(length(a[2])+1, length(a[1])+1) },
	"join":                   func(a []reflect.Value) int64 { return times(length(a[1])+1, length(a[0])+1) },
	"wrap":                   func(a []reflect.Value) int64 { return times(length(a[1]), 4) },
	"wrapWith":               func(a []reflect.Value) int64 { return times(length(a[2])+1, length(a[1])+1) },
	"split":                  func(a []reflect.Value) int64 { return times(length(a[1]), 256) },
	"splitList":              func(a []reflect.Value) int64 { return times(length(a[1]), 64) },
	"splitn":                 func(a []reflect.Value) int64 { return times(length(a[2]), 256) },
	"deepCopy":               reflectionPrice,
	"merge":                  reflectionPrice,
	"mergeOverwrite":         reflectionPrice,
	"fromJson":               func(a []reflect.Value) int64 { return times(length(a[0]), 32) },
	"printf":                 printfPrice,
	"toPrettyJson":           func(a []reflect.Value) int64 { return prettyPrice(a[0]) },
	"uniq":                   squarePrice(0),
	"without":                func(a []reflect.Value) int64 { return crossPrice(a[0], a[1]) },
	"addf":                   decimalPrice,
	"subf":                   decimalPrice,
	"divf":                   decimalPrice,
	"mulf":                   decimalPrice,
	"regexMatch":             regexPrice(1),
	"regexFind":              regexPrice(1),
	"regexFindAll":           regexPrice(1),
	"regexSplit":             regexPrice(1),
	"regexReplaceAll":        regexPrice(1),
	"regexReplaceAllLiteral": regexPrice(1),
}

// priceOf also covers variants such as mustUniq, which return errors instead of ignoring them.
func priceOf(name string) func(args []reflect.Value) int64 {
	if rest, must := strings.CutPrefix(name, "must"); must && rest != "" {
		name = strings.ToLower(rest[:1]) + rest[1:]
	}
	return prices[name]
}

// times multiplies; an overflow exceeds any allowance.
func times(a, b int64) int64 {
	if a < 0 || b < 0 || a != 0 && b > math.MaxInt64/a {
		return math.MaxInt64
	}
	return a * b
}

func magnitude(n int64) int64 {
	if n == math.MinInt64 {
		return math.MaxInt64
	}
	return max(n, -n)
}

func number(v reflect.Value) int64 {
	v = inner(v)
	if v.IsValid() && v.CanInt() {
		return max(v.Int(), 0)
	}
	return 0
}

func inner(v reflect.Value) reflect.Value {
	for v.IsValid() && v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	return v
}

// length returns the bytes or elements of a value.
func length(v reflect.Value) int64 {
	switch v = inner(v); v.Kind() {
	case reflect.String, reflect.Slice, reflect.Array, reflect.Map:
		return int64(v.Len())
	}
	return 1
}

func indentPrice(a []reflect.Value) int64 {
	return times(magnitude(a[0].Int()), int64(strings.Count(a[1].String(), "\n"))+1)
}

func steps(start, stop, step int64) int64 {
	if step == 0 {
		return 0
	}
	distance := float64(stop) - float64(start)
	return int64(min(math.Abs(distance/float64(step))*elementCost, math.MaxInt64/2))
}

// seqPrice handles seq END, seq START END and seq START STEP END.
func seqPrice(a []reflect.Value) int64 {
	n := a[0] // the variadic arguments
	switch n.Len() {
	case 1:
		return steps(1, n.Index(0).Int(), 1)
	case 2:
		return steps(n.Index(0).Int(), n.Index(1).Int(), 1)
	case 3:
		return steps(n.Index(0).Int(), n.Index(2).Int(), n.Index(1).Int())
	}
	return 0
}

// printfPrice counts the widths and precisions in a format.
func printfPrice(a []reflect.Value) int64 {
	const widest = 1_000_000 // the limit of package fmt
	var price, width int64
	for _, c := range a[0].String() {
		switch {
		case c >= '0' && c <= '9':
			width = min(10*width+int64(c-'0'), widest)
			continue
		case c == '*':
			price += widest
		}
		price += width
		width = 0
	}
	return times(price, 4)
}

func prettyPrice(v reflect.Value) int64 { return times(length(v), 2*maxDepth) }

// squarePrice is for functions that compare all pairs of elements.
func squarePrice(arg int) func([]reflect.Value) int64 {
	return func(a []reflect.Value) int64 { n := length(a[arg]); return times(times(n, n), elementCost) }
}

func crossPrice(list, others reflect.Value) int64 {
	return times(times(length(list), length(others)+1), elementCost)
}

// reflectionPrice is for functions that copy by reflection, which takes many times as long as
// copying bytes.
func reflectionPrice([]reflect.Value) int64 { return 16 * callCost }

// decimalPrice counts digits: a product has as many as all factors.
func decimalPrice(a []reflect.Value) int64 {
	n := length(a[len(a)-1]) + 1
	return times(times(n, n), 16*callCost)
}

// states returns the number of states of an expression with expanded repetitions, which is the
// worst cost of a search for each character.
func states(pattern string) int64 {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 1 // refused without a search
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 1
	}
	return int64(len(program.Inst))
}

// regexPrice is states times text for matching; replacing can insert the replacement after each
// character, and the whole text for $0.
func regexPrice(text int) func([]reflect.Value) int64 {
	return func(a []reflect.Value) int64 {
		price := times(4*states(a[0].String())+32, length(a[text])+1) + 16*length(a[0])
		if last := inner(a[len(a)-1]); len(a) > text+1 && last.Kind() == reflect.String {
			price += times(int64(last.Len())+1, length(a[text])+1)
		}
		return price
	}
}
