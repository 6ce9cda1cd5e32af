// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package moves

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// doc makes a state of instances: "ADDRESS" or "ADDRESS < DEPENDENCY DEPENDENCY".
func doc(t testing.TB, lines ...string) []byte {
	t.Helper()
	entries := map[string]map[string]any{}
	var order []string
	for _, line := range lines {
		address, needs, _ := strings.Cut(line, " < ")
		a, err := ParseAddress(address)
		if err != nil {
			t.Fatal(err)
		}
		whole := a
		whole.key = ""
		e := entries[whole.String()]
		if e == nil {
			e = map[string]any{"mode": a.mode, "type": a.kind, "name": a.name, "provider": `provider["registry.opentofu.org/acme/` + a.kind + `"]`, "instances": []any{}}
			if len(a.calls) > 0 {
				e["module"] = path(a.calls)
				if a.kind == "own" {
					e["provider"] = configured(a.calls) + `.provider["registry.opentofu.org/acme/own"]`
				}
			}
			entries[whole.String()] = e
			order = append(order, whole.String())
		}
		i := map[string]any{"schema_version": 0, "attributes": map[string]any{"id": line, "big": json.Number("12345678901234567890")}}
		if a.key != "" {
			i["index_key"] = json.RawMessage(a.key)
		}
		if needs != "" {
			i["dependencies"] = strings.Fields(needs)
		}
		e["instances"] = append(e["instances"].([]any), i)
	}
	list := []any{}
	for _, name := range order {
		list = append(list, entries[name])
	}
	data, err := json.Marshal(map[string]any{"version": 4, "terraform_version": "1.12.6", "serial": 7, "lineage": "l", "outputs": map[string]any{}, "resources": list, "check_results": nil})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// lines are the instances of a state as doc takes them, sorted.
func lines(t testing.TB, data []byte) (out []string) {
	t.Helper()
	d, err := parse("x", data)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range d.resources {
		for _, i := range r.instances {
			a := r.address()
			a.key = i.key
			text := a.String()
			var needs []string
			if json.Unmarshal(i.raw["dependencies"], &needs) == nil && len(needs) > 0 {
				text += " < " + strings.Join(needs, " ")
			}
			out = append(out, text)
		}
	}
	slices.Sort(out)
	return out
}

// steps reads "STATE FROM -> [STATE] TO", "STATE FROM x" and "STATE FROM => TO".
func steps(texts ...string) (list []Step) {
	for _, text := range texts {
		w := strings.Fields(text)
		s := Step{Verb: Move, State: w[0], From: w[1]}
		switch {
		case w[2] == "x":
			s.Verb = Remove
		case w[2] == "=>":
			s.Verb, s.To = ReplaceProvider, w[3]
		case len(w) == 5:
			s.ToState, s.To = w[3], w[4]
		default:
			s.To = w[3]
		}
		list = append(list, s)
	}
	return list
}

func TestSteps(t *testing.T) {
	for what, c := range map[string]struct {
		a, b  []string
		steps []string
		// wantA and wantB are nil for a state that does not change.
		wantA, wantB []string
	}{
		"a resource with all instances": {a: []string{"x.a[0]", "x.a[1]", "x.b"}, steps: []string{"a x.a -> x.c"}, wantA: []string{"x.b", "x.c[0]", "x.c[1]"}},
		"an instance":                   {a: []string{`x.a["k.[é]"]`, "x.a[1]"}, steps: []string{`a x.a["k.[é]"] -> x.b`}, wantA: []string{"x.a[1]", "x.b"}},
		"an instance gets a key":        {a: []string{"x.a"}, steps: []string{`a x.a -> x.a["main"]`}, wantA: []string{`x.a["main"]`}},
		"into a module of another state": {a: []string{"x.a", "x.b < x.a"}, b: []string{"x.c"}, steps: []string{"a x.a -> b module.m.x.a"},
			wantA: []string{"x.b"}, wantB: []string{"module.m.x.a", "x.c"}},
		"dependencies that move together stay": {a: []string{"x.a", "x.b < x.a x.z", "x.z"}, steps: []string{"a x.b -> b x.bb", "a x.a -> b x.aa"},
			wantA: []string{"x.z"}, wantB: []string{"x.aa", "x.bb < x.aa"}},
		"dependencies on what moves within the state": {a: []string{"x.a", "x.b < x.a"}, steps: []string{"a x.a -> x.c", "a x.c -> module.m.x.c"},
			wantA: []string{"module.m.x.c", "x.b < module.m.x.c"}},
		"one of two instances moves: dependencies name both": {a: []string{"x.a[0]", "x.a[1]", "x.b < x.a"}, steps: []string{"a x.a[0] -> x.c"},
			wantA: []string{"x.a[1]", "x.b < x.a x.c", "x.c"}},
		"a module with everything below": {a: []string{`module.m["a"].x.a`, `module.m["b"].module.n.x.b`, "x.c < module.m.module.n.x.b"}, steps: []string{"a module.m -> module.p"},
			wantA: []string{`module.p["a"].x.a`, `module.p["b"].module.n.x.b`, "x.c < module.p.module.n.x.b"}},
		"one instance of a module, to another state": {a: []string{`module.m["a"].x.a`, `module.m["b"].x.a`}, steps: []string{`a module.m["b"] -> b module.db`},
			wantA: []string{`module.m["a"].x.a`}, wantB: []string{"module.db.x.a"}},
		"a module into a module":        {a: []string{"module.m.own.a"}, steps: []string{"a module.m -> module.m.module.inner"}, wantA: []string{"module.m.module.inner.own.a"}},
		"data sources move":             {a: []string{"data.x.a"}, steps: []string{"a data.x.a -> b data.x.b"}, wantA: nil, wantB: []string{"data.x.b"}},
		"removed":                       {a: []string{"x.a", "x.b < x.a"}, steps: []string{"a x.a x"}, wantA: []string{"x.b"}},
		"there and back":                {a: []string{"x.a", "x.b < x.a"}, steps: []string{"a x.a -> b x.a", "b x.a -> a x.a"}, wantA: []string{"x.a", "x.b < x.a"}, wantB: nil},
		"two change places through one": {a: []string{"x.a", "x.b < x.a"}, steps: []string{"a x.a -> x.t", "a x.b -> x.a", "a x.t -> x.b"}, wantA: []string{"x.a < x.b", "x.b"}},
	} {
		r, err := Apply(map[string][]byte{"a": doc(t, c.a...), "b": doc(t, c.b...)}, steps(c.steps...))
		if err != nil {
			t.Errorf("%s: %v", what, err)
			continue
		}
		for name, want := range map[string][]string{"a": c.wantA, "b": c.wantB} {
			data, changed := r.States[name]
			switch {
			case !changed && len(want) > 0:
				t.Errorf("%s: %s did not change", what, name)
			case changed && !slices.Equal(lines(t, data), want):
				t.Errorf("%s: %s is %q, want %q", what, name, lines(t, data), want)
			}
		}
	}
}

func TestStepsThatDoNotFit(t *testing.T) {
	for what, c := range map[string]struct {
		a     []string
		steps []string
		want  string
	}{
		"nothing is there":            {[]string{"aws_vpc.main"}, []string{"a aws_vpc.mian x"}, "nothing is at aws_vpc.mian; did you mean aws_vpc.main?"},
		"the place is taken":          {[]string{"x.a", "x.b"}, []string{"a x.a -> x.b"}, "x.b of a exists already"},
		"a cycle":                     {[]string{"x.a", "x.b"}, []string{"a x.a -> x.b", "a x.b -> x.a"}, "exists already"},
		"named twice":                 {[]string{"x.a"}, []string{"a x.a -> b x.c", "a x.a -> x.d"}, "an earlier step moved it to x.c of b"},
		"removed and moved":           {[]string{"x.a"}, []string{"a x.a x", "a x.a -> x.d"}, "an earlier step removed it"},
		"another type":                {[]string{"x.a"}, []string{"a x.a -> y.a"}, "a resource keeps its type: y is not x"},
		"data becomes managed":        {[]string{"data.x.a"}, []string{"a data.x.a -> x.a"}, "keeps its type"},
		"a module becomes a resource": {[]string{"module.m.x.a"}, []string{"a module.m -> x.a"}, "a module can only become a module"},
		"several get one key":         {[]string{"x.a[0]", "x.a[1]"}, []string{"a x.a -> x.b[0]"}, "x.a has several instances"},
		"modules get one key":         {[]string{"module.m[0].x.a", "module.m[1].x.a"}, []string{"a module.m -> module.n[0]"}, "exists already"},
		"no address":                  {nil, []string{"a x -> y"}, `the address "x"`},
		"an expression":               {nil, []string{"a x.a[var.b] x"}, "it is none"},
		"a key that is no key":        {nil, []string{"a x.a[1.5] x"}, "neither a text nor a whole number"},
		"an unknown state":            {[]string{"x.a"}, []string{"c x.a x"}, "a state is not known"},
		"an unknown provider":         {[]string{"x.a"}, []string{"a hashicorp/x => acme/x"}, "no resource has this provider"},
	} {
		_, err := Apply(map[string][]byte{"a": doc(t, c.a...), "b": doc(t)}, steps(c.steps...))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestStatesThatAreNone(t *testing.T) {
	for what, text := range map[string]string{"nothing": "", "another version": `{"version":3}`, "a list": `[]`, "resources that are no list": `{"version":4,"resources":{}}`,
		"a resource without type": `{"version":4,"resources":[{"mode":"managed","name":"a","instances":[]}]}`,
		"a module that is none":   `{"version":4,"resources":[{"module":"m","mode":"managed","type":"x","name":"a","instances":[]}]}`,
		"a key that is none":      `{"version":4,"resources":[{"mode":"managed","type":"x","name":"a","instances":[{"index_key":{}}]}]}`,
		"a resource twice":        `{"version":4,"resources":[{"mode":"managed","type":"x","name":"a","instances":[]},{"mode":"managed","type":"x","name":"a","instances":[]}]}`,
		"an encrypted one":        `{"version":4,"encrypted_data":"x"}`} {
		if _, err := Apply(map[string][]byte{"a": []byte(text)}, nil); err == nil {
			t.Errorf("%s is accepted", what)
		}
	}
}

func TestTheRestOfAStateIsKept(t *testing.T) {
	r, err := Apply(map[string][]byte{"a": doc(t, "module.m.own.a", "x.b")}, steps("a module.m -> module.n", "a registry.opentofu.org/acme/x => registry.opentofu.org/other/x"))
	if err != nil {
		t.Fatal(err)
	}
	text := string(r.States["a"])
	for _, want := range []string{`"serial": 8`, `"lineage": "l"`, `"check_results": null`, "12345678901234567890", `module.n.provider[\"registry.opentofu.org/acme/own\"]`, `provider[\"registry.opentofu.org/other/x\"]`} {
		if !strings.Contains(text, want) {
			t.Errorf("without %s:\n%s", want, text)
		}
	}
}

// TestLaws plays random moves between three states: nothing is lost or doubled, and the way back leads
// to what was there.
func TestLaws(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		states := map[string][]byte{}
		total := 0
		for _, name := range []string{"a", "b", "c"} {
			var have []string
			for i := range rapid.IntRange(0, 6).Draw(rt, "instances") {
				have = append(have, fmt.Sprintf("%sx.%s%d%s", rapid.SampledFrom([]string{"", "module.m.", `module.m["k"].`, "module.n[0].module.o."}).Draw(rt, "module"), name, i, rapid.SampledFrom([]string{"", "[0]", `["é\""]`}).Draw(rt, "key")))
			}
			states[name], total = doc(t, have...), total+len(have)
		}
		var back []Step
		for n := range rapid.IntRange(1, 6).Draw(rt, "steps") {
			from, to := rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "from"), rapid.SampledFrom([]string{"a", "b", "c"}).Draw(rt, "to")
			here := lines(t, states[from])
			if len(here) == 0 {
				continue
			}
			s := Step{Verb: Move, State: from, From: rapid.SampledFrom(here).Draw(rt, "instance"), ToState: to, To: fmt.Sprintf("module.moved.x.n%d", n)}
			r, err := Apply(states, []Step{s})
			if err != nil {
				rt.Fatal(err)
			}
			for name, data := range r.States {
				states[name] = data
			}
			back = append([]Step{{Verb: Move, State: to, From: s.To, ToState: from, To: s.From}}, back...)
		}
		before := slices.Concat(lines(t, states["a"]), lines(t, states["b"]), lines(t, states["c"]))
		if len(before) != total {
			rt.Fatalf("%d instances became %d", total, len(before))
		}
		r, err := Apply(states, back)
		if err != nil {
			rt.Fatal(err)
		}
		for name, data := range r.States {
			states[name] = data
		}
		for _, name := range []string{"a", "b", "c"} {
			for _, line := range lines(t, states[name]) {
				if strings.Contains(line, "moved") {
					rt.Fatalf("%s of %s did not come back", line, name)
				}
			}
		}
	})
}

func FuzzParseAddress(f *testing.F) {
	for _, seed := range []string{"x.a", `module.a["b"].data.x.y[0]`, "module", "data.x", `x.a["]`, "module.a[0][1]"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		a, err := ParseAddress(text)
		if err != nil {
			return
		}
		again, err := ParseAddress(a.String())
		if err != nil || again.String() != a.String() {
			t.Errorf("%q becomes %q: %v", text, a, err)
		}
	})
}
