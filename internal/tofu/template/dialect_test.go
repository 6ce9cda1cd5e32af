// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package template

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// dialect is one with a function of each kind.
func dialect() Dialect {
	return Dialect{Left: "{{", Types: []string{"whole", "half", "truth"}, Functions: map[string]any{
		"whole": func(text string) (int64, error) {
			if text == "" {
				return 0, Refuse("whole: there is no number")
			}
			return int64(len(text)), nil
		},
		"half":     func(n int) float64 { return float64(n) / 2 },
		"truth":    func(text string) bool { return text != "" },
		"fromJson": func(text string) any { return map[string]any{"size": float64(len(text))} },
		"leak":     func(text string) (string, error) { return "", errors.New("cannot do that with " + text) },
	}}
}

func row() map[string]any {
	return map[string]any{"uid": "acme", "empty": "", "braces": "{{ .uid }}", "zones": "a,b", "mixed": "a: {{ nope"}
}

func TestDialectText(t *testing.T) {
	for sentence, test := range map[string]struct{ in, want string }{
		"no template":                          {"plain ${ x }", "plain ${ x }"},
		"a dollar sign before one":             {"US${{ .uid }}", "US$acme"},
		"a value":                              {"{{ .uid }}-app", "acme-app"},
		"the dialect's function":               {"{{ whole .uid }}", "4"},
		"one of sprig's":                       {"{{ .uid | upper | trunc 2 }}", "AC"},
		"one of sprig's that is replaced":      {"{{ (fromJson .uid).size }}", "4"},
		"what a row says is no template":       {"{{ .braces }}", "{{ .uid }}"},
		"functions of text/template":           {`{{ printf "%s-%d" .uid 3 }}{{ len .uid }}{{ if and (eq .uid "acme") (not .empty) }}!{{ end }}`, "acme-34!"},
		"a template that is defined":           {`{{ define "part" }}{{ . | upper }}{{ end }}{{ template "part" .uid }}`, "ACME"},
		"a function's name in what is written": {"printf {{ .uid }} upper", "printf acme upper"},
		"a function called in a definition":    {`{{ define "x" }}{{ . | quote }}{{ end }}{{ template "x" .uid }}`, `"acme"`},
	} {
		t.Run(sentence, func(t *testing.T) {
			got, err := dialect().Text("spec.x", test.in, row())
			if err != nil || got != test.want {
				t.Errorf("got %q, %v", got, err)
			}
		})
	}
}

func TestDialectTextSaysWhatIsWrong(t *testing.T) {
	for in, want := range map[string]string{
		"{{ .nope }}":                   "spec.x: .nope has no value",
		"{{ upper .nope }}":             "spec.x: .nope has no value",
		"{{ .nope | upper }}":           "spec.x: at <upper>: its argument has no value",
		"a\nb {{ .nope }}":              "spec.x:2:5: .nope has no value",
		"{{ whole .empty }}":            "spec.x: whole: there is no number",
		"{{ leak .uid }}":               "spec.x: at <leak .uid>: the function leak cannot process this value",
		"{{ nope .uid }}":               `spec.x: function "nope" not defined`,
		"{{ yuba_show .uid }}":          `spec.x: function "yuba_show" not defined`,
		"{{ env \"HOME\" }}":            "spec.x: env is not available in templates: " + surroundings,
		"{{ .uid":                       "spec.x: unclosed action",
		`{{ fail "no" }}`:               "spec.x: no",
		"{{ truth }}":                   "spec.x: at <truth>: wrong number of args for truth: want 1 got 0",
		"{{ template \"x\" }}":          "spec.x: at <{{template \"x\"}}>: template \"x\" not defined",
		"{{ range .uid }}x{{ end }}":    "spec.x: at <.uid>: range can't iterate over this value",
		"{{ .uid | mustToDate \"x\" }}": "spec.x: at <mustToDate \"x\">: the function mustToDate cannot process this value",
	} {
		_, err := dialect().Text("spec.x", in, row())
		var found *Error
		if !errors.As(err, &found) || err.Error() != want {
			t.Errorf("%s: %v", in, err)
		}
	}
}

func TestDialectValue(t *testing.T) {
	in := map[string]any{
		"literal": []any{int64(3), 0.5, true, nil, "x"},
		"typed": map[string]any{
			"whole": "{{ whole .uid }}", "piped": "{{- .uid | whole -}}", "half": "{{ half 3 }}", "even": "{{ half 4 }}", "truth": "{{ truth .empty }}",
			"branch": "{{ if .empty }}{{ whole .empty }}{{ else }}{{ whole .uid }}{{ end }}", "declared": "{{ $n := .uid }}{{ whole $n }}",
			"parentheses": "{{ (whole .uid) }}", "with": "{{ with .uid }}{{ whole . }}{{ end }}",
		},
		"text": map[string]any{
			"beside": "{{ whole .uid }}m", "two": "{{ whole .uid }}{{ whole .uid }}", "empty beside": "{{ whole .uid }}{{ .empty }}", "on": "{{ whole .uid | add 1 }}",
			"loop": `{{ range splitList "," .uid }}{{ whole . }}{{ end }}`, "line": "{{ whole .uid }}\n", "neither branch": "{{ if .empty }}{{ whole .uid }}{{ end }}",
			"one branch": "{{ if .uid }}{{ whole .uid }}{{ else }}none{{ end }}", "length": "{{ len .uid }}",
		},
		"list":          `{{ splitList "," .zones }}`,
		"map":           "{{ fromJson .uid }}",
		"{{ .uid }}":    "{{ .uid }}",
		"labels":        map[string]any{"n": "{{ whole .uid }}", "l": "{{ splitList \",\" .zones }}", "deep": []any{"{{ truth .uid }}"}},
		"from the row":  "{{ .braces }}",
		"hcl":           "${var.x}\n",
		"number as key": map[string]any{"{{ whole .uid }}": int64(1)},
	}
	want := map[string]any{
		"literal": []any{int64(3), 0.5, true, nil, "x"},
		"typed": map[string]any{
			"whole": int64(4), "piped": int64(4), "half": 1.5, "even": float64(2), "truth": false,
			"branch": int64(4), "declared": int64(4), "parentheses": int64(4), "with": int64(4),
		},
		"text": map[string]any{
			"beside": "4m", "two": "44", "empty beside": "4", "on": "5", "loop": "4", "line": "4\n", "neither branch": "", "one branch": "4", "length": "4",
		},
		"list":          []any{"a", "b"},
		"map":           map[string]any{"size": int64(4)},
		"acme":          "acme",
		"labels":        map[string]any{"n": "4", "l": "[a b]", "deep": []any{"true"}},
		"from the row":  "{{ .uid }}",
		"hcl":           "${var.x}\n",
		"number as key": map[string]any{"4": int64(1)},
	}
	before := dialect().document(nil, nil).budget.copyOf(in, 0)
	got, err := dialect().Value("spec", in, row(), func(path []string) bool { return path[0] == "labels" })
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(any(want), got); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, any(in)); diff != "" {
		t.Errorf("the value that was given has changed:\n%s", diff)
	}
}

// TestTypesAreTheDialects: what other templates give stays text, though a function has the same
// name.
func TestTypesAreTheDialects(t *testing.T) {
	got, err := Document("spec.values", []byte(`["${{ int 3 }}", "${{ float64 1 }}"]`), nil)
	if err != nil || string(got.JSON) != `["3","1"]` {
		t.Errorf("%s, %v", got.JSON, err)
	}
}

func TestDialectValueSaysWhichField(t *testing.T) {
	for sentence, test := range map[string]struct {
		in   any
		want string
	}{
		"in a list":                {[]any{"a", map[string]any{"b": "{{ .nope }}"}}, "spec[1].b: .nope has no value"},
		"a line of a program":      {map[string]any{"hcl": "a {\n  b = {{ .nope }}\n}\n"}, "spec.hcl:2:9: .nope has no value"},
		"a name":                   {map[string]any{"{{ .nope }}": 1}, "spec: .nope has no value"},
		"two names become one":     {map[string]any{"{{ .uid }}": 1, "acme": 2}, `spec: the name "{{ .uid }}" renders to one that exists already`},
		"the first in the order":   {map[string]any{"b": "{{ .second }}", "a": "{{ .first }}"}, "spec.a: .first has no value"},
		"an end without an action": {map[string]any{"a": "{{ end }}"}, "spec.a: unexpected {{end}}"},
	} {
		t.Run(sentence, func(t *testing.T) {
			_, err := dialect().Value("spec", test.in, row(), nil)
			if err == nil || err.Error() != test.want {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestOneBudgetForAValue: what no text of a value may do, all of them together may not either.
func TestOneBudgetForAValue(t *testing.T) {
	var list []any
	for range 200 {
		list = append(list, `{{ range until 2000 }}{{ . | add 1 | toString | upper | len }}{{ end }}`)
	}
	if _, err := dialect().Value("spec", list[:1], nil, nil); err != nil {
		t.Errorf("one of them is too much: %v", err)
	}
	if _, err := dialect().Value("spec", list, nil, nil); err == nil || !strings.Contains(err.Error(), "too much time or memory") {
		t.Errorf("200 of them: %v", err)
	}
}

// TestAPurseIsForAll: what belongs together costs no more than its purse has, however many texts it
// is in.
func TestAPurseIsForAll(t *testing.T) {
	d := dialect()
	d.Purse = NewPurse(2)
	costly := strings.Repeat(`{{ range until 2000 }}{{ . | add 1 | toString | upper | len }}{{ end }}`, 8)
	fits := 0
	for range 100 {
		if _, err := d.Text("spec.x", costly, nil); err != nil {
			break
		}
		fits++
	}
	if fits == 0 || fits > 50 {
		t.Errorf("%d of them fit", fits)
	}
	if _, err := d.Text("spec.x", "{{ .uid }}", row()); err == nil || !strings.Contains(err.Error(), "too much time or memory") {
		t.Errorf("after that: %v", err)
	}
	d.Purse = NewPurse(1)
	for range 100_000 {
		if _, err := d.Text("spec.x", "plain", nil); err != nil {
			t.Fatal(err)
		}
	}
}

// TestDepth: a document that is nested without end costs little, and is told by the beginning of
// its place.
func TestDepth(t *testing.T) {
	var list, object any = "{{ .uid }}", "{{ .uid }}"
	for range 10_000 {
		list, object = []any{list}, map[string]any{"ä": object}
	}
	for _, deep := range []any{list, object} {
		if _, err := dialect().Value("spec", deep, row(), nil); err == nil || !strings.Contains(err.Error(), "nested more than 256 levels") || len(err.Error()) > 400 {
			t.Errorf("%v", err)
		}
	}
}

// TestWhoseFaultAnErrorIs: other data may do where the template is not to blame.
func TestWhoseFaultAnErrorIs(t *testing.T) {
	for in, data := range map[string]bool{
		"{{ .uid": false, "{{ nope }}": false, `{{ env "HOME" }}`: false, "{{ truth }}": false, `{{ template "x" }}`: false,
		"{{ .nope }}": true, "{{ .nope | upper }}": true, "{{ whole .empty }}": true, "{{ .uid.x }}": true, `{{ fail "no" }}`: true, "{{ range .uid }}{{ end }}": true,
	} {
		_, err := dialect().Text("spec.x", in, row())
		var found *Error
		if !errors.As(err, &found) || found.Data != data {
			t.Errorf("%s: %v, %+v", in, err, found)
		}
	}
}

// TestOnlyNamedFunctionsAreMade: a template is cheap, whatever it could call.
func TestOnlyNamedFunctionsAreMade(t *testing.T) {
	r := &renderer{budget: newBudget(), left: "{{"}
	if _, err := r.render("{{ .uid | upper }} lower", row()); err != nil {
		t.Fatal(err)
	}
	made := 0
	for _, function := range r.budget.made {
		if function != nil {
			made++
		}
	}
	if made != 5 || len(r.budget.made) != 5 { // upper, lower, and our three
		t.Errorf("%d functions were made: %v", made, r.budget.made)
	}
}

func FuzzDialectValue(f *testing.F) {
	for _, seed := range []string{
		"{{ .uid }}-app", "{{ whole .uid }}", "{{ if .x }}{{ whole .uid }}{{ end }}", `{{ splitList "," .zones }}`, "{{ fromJson .uid }}", "{{ define \"t\" }}x{{ end }}",
		"{{ $x := list 1 }}{{ $x = list $x $x }}{{ $x }}", "{{ half 3 | whole }}", "{{ (whole .uid) | truth }}", "\xff{{ .uid }}\xfe",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := dialect().Value("spec", map[string]any{"a": in, "metadata": in}, row(), func(path []string) bool { return path[0] == "metadata" })
		if err != nil {
			return
		}
		out := got.(map[string]any)
		if _, ok := out["metadata"].(string); !ok {
			t.Errorf("%q gives %v where only text may be", in, out["metadata"])
		}
		if number, ok := out["a"].(float64); ok && (math.IsNaN(number) || math.IsInf(number, 0)) {
			t.Errorf("%q gives %v, which JSON cannot write", in, number)
		}
	})
}

func BenchmarkDialectText(b *testing.B) {
	for b.Loop() {
		if _, err := dialect().Text("spec.x", "{{ .uid }}-{{ .zones | quote }}", row()); err != nil {
			b.Fatal(err)
		}
	}
}
