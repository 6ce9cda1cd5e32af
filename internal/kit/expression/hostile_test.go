// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package expression

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/cel-go/cel"
)

// nested puts an expression into itself many times: %s stands for the inner one.
func nested(times int, inner, around string) string {
	for range times {
		inner = strings.ReplaceAll(around, "%s", inner)
	}
	return inner
}

// chained binds each step's value to x: doubling needs no doubling of the text.
func chained(times int, first, step string) string {
	return "[" + first + "]" + strings.Repeat(".map(x, "+step+")", times)
}

// Each of these held a core for minutes or made gigabytes, or would without a price.
var hostile = map[string]string{
	"a text doubles":                          chained(40, "'a'", "x + x") + "[0].size() > 1",
	"equal maps, nested sixty times":          chained(60, "{'a': dyn(1)}", "{'a': dyn(x), 'b': dyn(x)}") + ".all(e, e == e)",
	"equal lists, nested sixty times":         chained(60, "[dyn(1)]", "[dyn(x), dyn(x)]") + ".all(e, e == e)",
	"unequal lists, nested sixty times":       chained(60, "[dyn(1)]", "[dyn(x), dyn(x)]") + ".all(e, e != e)",
	"nested lists, formatted":                 chained(60, "[dyn(1)]", "[dyn(x), dyn(x)]") + ".all(e, '%s'.format([e]).size() > 1)",
	"nested lists, looked up":                 chained(60, "[dyn(1)]", "[dyn(x), dyn(x)]") + ".all(e, e in [e])",
	"nested lists, as sets":                   chained(60, "[dyn(1)]", "[dyn(x), dyn(x)]") + ".all(e, sets.equivalent(e, e))",
	"nested optionals, compared":              chained(60, "dyn(1)", "optional.of([dyn(x), dyn(x)])") + ".all(e, e == e)",
	"lists put together, compared":            chained(60, "[dyn(1)]", "x + x") + ".all(e, e == e)",
	"format, twice each":                      chained(40, "'a'", "'%s%s'.format([x, x])") + "[0].size() > 1",
	"a regular expression of a million steps": "req.long.matches('" + strings.Repeat("a{1000}", 1000) + "b')",
	"a long text, matched often":              "req.list.all(i, req.list.all(j, !req.long.matches('(a|aa|aaa|aaaa|aaaaa)*b')))",
	"a text searched in a long one":           "req.long.indexOf(req.long.substring(0, 1000000) + 'b') > 0",
	"a text searched from the end":            "req.long.lastIndexOf('b' + req.long.substring(0, 1000000)) > 0",
	"sets of long lists":                      "sets.contains(req.list, req.list.map(i, i + 1.0))",
	"a loop in a loop":                        "req.list.all(a, req.list.all(b, req.list.all(c, req.list.all(d, a + b + c + d >= 0.0))))",
	"a loop in a loop without calls":          "req.list.all(a, req.list.all(b, req.list.all(c, req.list.all(d, true))))",
	"a loop that ignores errors":              "req.list.exists(a, req.list.exists(b, req.list.exists(c, !req.long.matches('a{1000}b'))))",
	"decisions around long texts":             nested(5, "req.long", "((req.long + %s) == req.long ? %s : (%s + req.long))") + " != ''",
	"a split in a loop":                       "req.list.all(a, req.long.split('').size() > 1)",
	"a join of many":                          "req.list.map(a, req.long).join(req.long).size() > 1",
}

var hostileValues = map[string]any{
	"req": map[string]any{"long": strings.Repeat("a", 2<<20), "list": func() (list []any) {
		for i := range 2000 {
			list = append(list, float64(i))
		}
		return list
	}()},
	"res": map[string]any{},
}

// tooLong is what no expression takes: its deadline, and what can happen before it is seen on a
// busy machine.
const deadline, tooLong = 500 * time.Millisecond, 2500 * time.Millisecond

func TestHostileExpressionsEnd(t *testing.T) {
	ways := map[string]func(string) (*Expression, error){
		"checked": func(text string) (*Expression, error) { return New(text, cel.BoolType, "res", "req") }, "unchecked": Parse,
	}
	for sentence, text := range hostile {
		for way, compile := range ways {
			t.Run(sentence+", "+way, func(t *testing.T) { endsSoon(t, text, compile) })
		}
	}
}

func endsSoon(t *testing.T, text string, compile func(string) (*Expression, error)) {
	began := time.Now()
	e, err := compile(text)
	if err != nil {
		t.Fatalf("it does not compile: %.300s", err)
	}
	if took := time.Since(began); took > tooLong {
		t.Errorf("compiling it took %s", took)
	}
	ctx, cancel := context.WithTimeout(t.Context(), deadline)
	defer cancel()
	began = time.Now()
	_, err = e.Bool(ctx, hostileValues)
	if took := time.Since(began); took > tooLong {
		t.Errorf("it took %s", took)
	}
	if err == nil || !strings.Contains(err.Error(), errTooDear.Error()) && !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it ended with %.300v", err)
	}
}

func TestAnEvaluationEndsWithItsContext(t *testing.T) {
	for _, sentence := range []string{"a loop in a loop", "a loop in a loop without calls"} {
		e, err := New(hostile[sentence], cel.BoolType, "res", "req")
		if err != nil {
			t.Fatal(err)
		}
		gone := errors.New("nobody wants to know any more")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(50*time.Millisecond, func() { cancel(gone) })
		began := time.Now()
		_, err = e.Bool(ctx, hostileValues)
		if took := time.Since(began); took > time.Second || !errors.Is(err, gone) && !strings.Contains(fmt.Sprint(err), errTooDear.Error()) {
			t.Errorf("%s: it ended after %s with %.300v", sentence, took, err)
		}
	}
}

// Checking these would write out types that double with every step, or parse for seconds.
func TestHostileExpressionsAreRefusedSoon(t *testing.T) {
	for sentence, test := range map[string]struct{ text, want string }{
		"maps as keys of maps":      {chained(60, "1", "{x: x}") + ".size() > 1", "nested more than 32 deep"},
		"maps of maps":              {chained(60, "1", "{'a': x}") + ".size() > 1", "nested more than 32 deep"},
		"maps in lists, taken out":  {chained(60, "1", "[{x: x}][0]") + ".size() > 1", "nested more than 32 deep"},
		"lists in lists":            {chained(240, "1", "[x]") + ".size() > 1", "nested more than 32 deep"},
		"optionals in optionals":    {chained(100, "1", "optional.of(x)") + ".size() > 1", "nested more than 32 deep"},
		"hidden in a comparison":    {chained(60, "1", "{x: x}") + ".all(y, y == y)", "nested more than 32 deep"},
		"hidden behind dyn":         {"dyn(" + chained(60, "1", "{x: x}") + ") == 1", "nested more than 32 deep"},
		"hidden in a range":         {chained(60, "1", "{x: x}") + ".exists(y, true)", "nested more than 32 deep"},
		"lists, each taken out":     {chained(100, "1", "[x][0]") + ".size() > 1", ""},
		"lists in lists behind dyn": {chained(60, "[dyn(1)]", "[dyn(x)]") + ".size() > 1", ""},
		"loops in loops":            {strings.Repeat("req.list.all(x, ", 200) + "true" + strings.Repeat(")", 200), ""},
		"sums of sums":              {strings.Repeat("1 + ", 4000) + "1 == 1", "recursion"},
		"brackets in brackets":      {strings.Repeat("(", 8000) + "true" + strings.Repeat(")", 8000), "recursion"},
		"lists that do not end":     {strings.Repeat("[", 16000), "recursion"},
		"fields of fields":          {strings.Repeat("a.", 8000), "recursion"},
		"no words of the language":  {strings.Repeat("?", 16000), "Syntax error"},
	} {
		t.Run(sentence, func(t *testing.T) {
			began := time.Now()
			_, err := New(test.text, cel.BoolType, "res", "req")
			if took := time.Since(began); took > 5*tooLong {
				t.Errorf("it took %s", took)
			}
			if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
				t.Errorf("it ended with %.300v, want %q", err, test.want)
			}
		})
	}
}
