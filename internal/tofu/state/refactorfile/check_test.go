// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactorfile

import (
	"slices"
	"testing"

	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

func TestCheck(t *testing.T) {
	change := func(action plan.Action, address string) plan.ResourceChange {
		return plan.ResourceChange{Action: action, Address: address}
	}
	imported := func(address, id string) plan.ResourceChange {
		return plan.ResourceChange{Action: plan.NoOp, Address: address, Import: id, Imports: true}
	}
	output := func(action plan.Action, name string) plan.OutputValueChange {
		return plan.OutputValueChange{Action: action, Name: name}
	}
	m := &File{Imports: []Import{{Stack: "db", Address: "x.i", ID: "i-1"}}, Expected: map[string]*Expected{"db": {Update: []string{"x.u"}, Outputs: []string{"o"}}}}
	fulfilled := plan.Plan{Changes: []plan.ResourceChange{imported("x.i", "i-1"), change(plan.Update, "x.u")}, Outputs: []plan.OutputValueChange{output(plan.Update, "o")}}
	with := func(c ...plan.ResourceChange) *plan.Plan {
		p := fulfilled
		p.Changes = slices.Concat(p.Changes, c)
		return &p
	}
	for sentence, c := range map[string]struct {
		stack string
		plan  *plan.Plan
		want  []string
	}{
		"no changes":                        {"other", &plan.Plan{}, nil},
		"exactly what is named":             {"db", &fulfilled, nil},
		"new outputs and reads change none": {"other", &plan.Plan{Changes: []plan.ResourceChange{change(plan.Read, "data.x.a"), change(plan.Move, "x.m")}, Outputs: []plan.OutputValueChange{output(plan.Create, "n")}}, nil},
		"a destroyed resource":              {"other", &plan.Plan{Changes: []plan.ResourceChange{change(plan.Delete, "x.a")}}, []string{"the plan would destroy x.a"}},
		"another action than the named one": {"db", &plan.Plan{Changes: []plan.ResourceChange{imported("x.i", "i-1"), change(plan.Replace, "x.u")}, Outputs: fulfilled.Outputs},
			[]string{"the plan would replace x.u", "the file expects the plan to update x.u, and it does not"}},
		"one more":                    {"db", with(change(plan.Create, "x.c")), []string{"the plan would create x.c"}},
		"forgotten":                   {"other", &plan.Plan{Changes: []plan.ResourceChange{change(plan.Forget, "x.f")}}, []string{"the plan would forget x.f"}},
		"an import that nobody named": {"other", &plan.Plan{Changes: []plan.ResourceChange{imported("x.j", "1")}}, []string{"the plan imports x.j, which the file does not name"}},
		"an import of another object": {"db", &plan.Plan{Changes: []plan.ResourceChange{imported("x.i", "i-2"), change(plan.Update, "x.u")}, Outputs: fulfilled.Outputs},
			[]string{`the plan imports "i-2" as x.i, and the file names "i-1"`}},
		"nothing of what is named": {"db", &plan.Plan{}, []string{"the file expects the output o to change, and the plan keeps it", "the file expects the plan to update x.u, and it does not",
			`the file imports x.i, and the plan does not: add this to the program of db: import { to = x.i, id = "i-1" }`}},
		"outputs of others":       {"other", &plan.Plan{Outputs: []plan.OutputValueChange{output(plan.Delete, "gone"), output(plan.Update, "new")}}, []string{"the plan would remove the output gone; if nothing reads it, add it to outputs of an expect block", "the plan would change the output new"}},
		"a plan beyond the limit": {"other", &plan.Plan{Omitted: 3}, []string{"the plan has 3 more changes"}},
	} {
		if got := m.Check(c.stack, c.plan); !slices.Equal(got, c.want) {
			t.Errorf("%s: got %q, want %q", sentence, got, c.want)
		}
	}
}
