// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package plandiff

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// described is the plan that a description of the tool leads to.
func described(t testing.TB, show []byte) *plan.Outline {
	t.Helper()
	d, err := plan.Describe(show)
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.DecodeOutline(d.Document)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// real is a plan that the real tool has described.
func real(t testing.TB, name string) *plan.Outline {
	t.Helper()
	show, err := os.ReadFile("../../../tofu/plan/testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	return described(t, show)
}

// change is the description of a change.
func change(address, action string, before, after map[string]any, more ...any) map[string]any {
	actions := map[string][]string{"replace": {"delete", "create"}}[action]
	if actions == nil {
		actions = []string{action}
	}
	inner := map[string]any{"actions": actions, "before": before, "after": after}
	for i := 0; i < len(more); i += 2 {
		inner[more[i].(string)] = more[i+1]
	}
	return map[string]any{"address": address, "mode": "managed", "type": "x", "name": "a", "change": inner}
}

func showOf(t testing.TB, changes ...map[string]any) []byte {
	t.Helper()
	show, err := json.Marshal(map[string]any{"format_version": "1.2", "resource_changes": changes})
	if err != nil {
		t.Fatal(err)
	}
	return show
}

// view is Of, which must succeed.
func view(t testing.TB, p *plan.Outline, o Options) *View {
	t.Helper()
	v, err := Of(p, o)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// text is a view in short.
func text(v *View) string {
	var b strings.Builder
	for _, k := range v.Kinds {
		fmt.Fprintf(&b, "%s %d\n", k.Word, k.Count)
	}
	for _, r := range v.Rows {
		fmt.Fprintf(&b, "%s %s\n", r.Sign, r.Headline)
		for _, note := range r.Notes {
			fmt.Fprintf(&b, "  (%s)\n", note)
		}
		for _, l := range r.Lines {
			mark := ""
			if l.Forces {
				mark = " <--"
			}
			fmt.Fprintf(&b, "  %s|%s%s%s\n", l.Class, l.Sign, l.Text, mark)
		}
	}
	return b.String()
}

func TestOf(t *testing.T) {
	simple := showOf(t,
		change("x.new", "create", nil, map[string]any{"id": nil, "tags": map[string]any{"b": "2"}}, "after_unknown", map[string]any{"id": true}),
		change("x.same", "update", map[string]any{"a": "1", "b": "same", "secret": "hunter2"}, map[string]any{"a": "2", "b": "same", "secret": "hunter3"},
			"before_sensitive", map[string]any{"secret": true}, "after_sensitive", map[string]any{"secret": true}),
		change("x.other", "replace", map[string]any{"zone": "a"}, map[string]any{"zone": "b"}, "replace_paths", [][]any{{"zone"}}))
	for sentence, c := range map[string]struct {
		options Options
		want    string
	}{
		"only what changes": {Options{}, `replaced 1
created 1
updated 1
+ x.new will be created
  add|+id   = (known after apply)
  add|+tags = {
  add|+    b = "2"
  | }
~ x.same will be updated in place
  change|~a      = "1" -> "2"
  change|~secret = (sensitive value) -> (sensitive value)
  note| # (1 unchanged attribute hidden)
-/+ x.other must be replaced
  (because it cannot be changed in place: zone)
  change|~zone = "a" -> "b" # forces replacement <--
`},
		"all attributes of one kind": {Options{All: true, Kind: "update"}, `replaced 1
created 1
updated 1
~ x.same will be updated in place
  change|~a      = "1" -> "2"
  | b      = "same"
  change|~secret = (sensitive value) -> (sensitive value)
`},
		"what is called like this": {Options{Find: "OTHER"}, `replaced 1
created 1
updated 1
-/+ x.other must be replaced
  (because it cannot be changed in place: zone)
  change|~zone = "a" -> "b" # forces replacement <--
`},
	} {
		t.Run(sentence, func(t *testing.T) {
			if diff := cmp.Diff(c.want, text(view(t, described(t, simple), c.options))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestRealPlans(t *testing.T) {
	for name, has := range map[string][]string{
		"updates-replacements-and-a-move": {"moved from", "must be replaced"},
		"imports-reads-and-forgets":       {"imported", "forgotten"},
		"everything-is-destroyed":         {"will be destroyed"},
		"nothing-changes":                 nil,
	} {
		t.Run(name, func(t *testing.T) {
			v := view(t, real(t, name), Options{})
			got := text(v)
			for _, want := range has {
				if !strings.Contains(got, want) {
					t.Errorf("%q is missing:\n%s", want, got)
				}
			}
			for _, secret := range []string{"hunter2", "topsecret", "correct horse"} {
				if strings.Contains(got, secret) {
					t.Errorf("%q is shown", secret)
				}
			}
			if v.Empty != (name == "nothing-changes") {
				t.Errorf("empty: %v", v.Empty)
			}
		})
	}
}

func TestHostileValuesStayText(t *testing.T) {
	show := showOf(t,
		change("x.a[\"<script>\u202e\x1b[2K\"]", "create", nil, map[string]any{"<b>": "<img onerror=x>\u202e\x1b[31m", "long": strings.Repeat("y", 5<<20),
			"lines": strings.Repeat("line\n", 3000)}),
		change(strings.Repeat("z", 10_000), "delete", map[string]any{"a": "1"}, nil))
	v := view(t, described(t, show), Options{})
	if strings.ContainsAny(text(v), "\u202e\x1b") {
		t.Error("text steers the terminal, or turns its order")
	}
	first := v.Rows[0]
	if len(first.Lines) != maxLines || first.More < 2500 {
		t.Errorf("%d lines and %d more", len(first.Lines), first.More)
	}
	for _, r := range v.Rows {
		if len(r.Address) > maxText+8 || len(r.Headline) > maxText+8 {
			t.Errorf("an address of %d bytes", len(r.Address))
		}
		for _, l := range r.Lines {
			if len(l.Text) > maxText+200 {
				t.Errorf("a line of %d bytes", len(l.Text))
			}
		}
	}
	whole := view(t, described(t, show), Options{Only: first.ID})
	if len(whole.Rows) != 1 || whole.Rows[0].More != 0 || len(whole.Rows[0].Lines) < 3000 || !whole.Rows[0].Open {
		t.Error("the resource alone is not shown whole")
	}
}

// A value of five million lines is a page of a few thousand.
func TestNothingIsShownWithoutALimit(t *testing.T) {
	lines := strings.Repeat("line\n", 300_000)
	show, err := json.Marshal(map[string]any{"format_version": "1.2", "resource_changes": []map[string]any{change("x.a", "create", nil, map[string]any{"lines": lines})},
		"output_changes": map[string]any{"o": map[string]any{"actions": []string{"create"}, "after": lines}}})
	if err != nil {
		t.Fatal(err)
	}
	p := described(t, show)
	v := view(t, p, Options{})
	if len(v.Outputs) > maxLines || v.OutputsMore < 200_000 {
		t.Errorf("%d lines of outputs and %d more", len(v.Outputs), v.OutputsMore)
	}
	if whole := view(t, p, Options{Only: v.Rows[0].ID}).Rows[0]; len(whole.Lines) > maxWhole || whole.More < 200_000 {
		t.Errorf("%d lines of a resource alone and %d more", len(whole.Lines), whole.More)
	}
}

// large is the description of a plan with many resources.
func large(t testing.TB, n int) []byte {
	var changes []map[string]any
	for i := range n {
		values := map[string]any{"id": fmt.Sprint("i-", i), "cidr": "10.0.0.0/8", "tags": map[string]any{"team": "a", "env": "prod"}, "ports": []int{80, 443}}
		changed := map[string]any{"id": fmt.Sprint("i-", i), "cidr": "10.1.0.0/8", "tags": map[string]any{"team": "b", "env": "prod"}, "ports": []int{80, 8443}}
		changes = append(changes, change(fmt.Sprintf("module.m[%d].x.a", i), "update", values, changed))
	}
	return showOf(t, changes...)
}

func TestPages(t *testing.T) {
	p := described(t, large(t, 5000))
	for page, want := range map[int][3]int{0: {1, 100, 1}, 1: {1, 100, 1}, 50: {4901, 5000, 50}, 99: {4901, 5000, 50}, -3: {1, 100, 1}} {
		v := view(t, p, Options{Page: page})
		if got := [3]int{v.First, v.Last, v.Page}; got != want || v.Pages != 50 || v.Total != 5000 || len(v.Rows) != 100 || v.Rows[0].Open {
			t.Errorf("page %d: %v of %d, %d rows", page, got, v.Pages, len(v.Rows))
		}
	}
	if v := view(t, p, Options{Find: "m[77]"}); v.Total != 1 || v.All != 5000 || v.First != 1 || v.Last != 1 || !v.Rows[0].Open {
		t.Errorf("%+v", v)
	}
	if v := view(t, p, Options{Find: "nothing"}); v.First != 0 || v.Last != 0 || len(v.Rows) != 0 || v.Page != 1 {
		t.Errorf("%+v", v)
	}
}

// BenchmarkOpen is what a page of a plan of 5000 resources costs, from its stored description.
func BenchmarkOpen(b *testing.B) {
	d, err := plan.Describe(large(b, 5000))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(d.Document)))
	for b.Loop() {
		p, err := plan.DecodeOutline(d.Document)
		if err != nil {
			b.Fatal(err)
		}
		view(b, p, Options{})
	}
}
