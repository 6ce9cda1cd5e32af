// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package refactorfile

import (
	"fmt"
	"slices"

	"github.com/yuba-dev/yuba/internal/tofu/plan"
)

// Check compares the plan of a stack on its new state with what the file expects: no change but those
// that it names, and all of these. The problems are sentences, in the order of the plan.
func (m *File) Check(stack string, p *plan.Plan) (problems []string) {
	e := m.Expected[stack]
	if e == nil {
		e = &Expected{}
	}
	left := map[plan.Action][]string{plan.Create: slices.Clone(e.Create), plan.Update: slices.Clone(e.Update), plan.Replace: slices.Clone(e.Replace), plan.Delete: slices.Clone(e.Destroy)}
	imports := map[string]Import{}
	for _, i := range m.Imports {
		if i.Stack == stack {
			imports[i.Address] = i
		}
	}
	for i := range p.Changes {
		c := &p.Changes[i]
		if c.Imports || c.Action == plan.Import {
			wanted, ok := imports[c.Address]
			delete(imports, c.Address)
			switch {
			case !ok:
				problems = append(problems, fmt.Sprintf("the plan imports %s, which the file does not name", c.Address))
			case c.Import != "" && c.Import != wanted.ID:
				problems = append(problems, fmt.Sprintf("the plan imports %q as %s, and the file names %q", c.Import, c.Address, wanted.ID))
			}
		}
		switch c.Action {
		case plan.NoOp, plan.Read, plan.Move, plan.Import:
			continue
		case plan.Create, plan.Update, plan.Replace, plan.Delete, plan.Forget:
		}
		if at := slices.Index(left[c.Action], c.Address); at >= 0 {
			left[c.Action] = slices.Delete(left[c.Action], at, at+1)
			continue
		}
		problems = append(problems, fmt.Sprintf("the plan would %s %s", inWords[c.Action], c.Address))
	}
	if p.Omitted > 0 {
		problems = append(problems, fmt.Sprintf("the plan has %d more changes", p.Omitted))
	}
	problems = append(problems, outputs(e, p)...)
	for _, action := range []plan.Action{plan.Create, plan.Update, plan.Replace, plan.Delete} {
		for _, address := range left[action] {
			problems = append(problems, fmt.Sprintf("the file expects the plan to %s %s, and it does not", inWords[action], address))
		}
	}
	for _, i := range m.Imports {
		if _, missing := imports[i.Address]; missing && i.Stack == stack {
			problems = append(problems, fmt.Sprintf("the file imports %s, and the plan does not: add this to the program of %s: import { to = %s, id = %q }", i.Address, stack, i.Address, i.ID))
		}
	}
	return problems
}

var inWords = map[plan.Action]string{plan.Create: "create", plan.Update: "update", plan.Replace: "replace", plan.Delete: "destroy", plan.Forget: "forget"}

// outputs are the problems with outputs. New ones are fine: nobody reads them yet.
func outputs(e *Expected, p *plan.Plan) (problems []string) {
	left := slices.Clone(e.Outputs)
	for _, o := range p.Outputs {
		at := slices.Index(left, o.Name)
		if at >= 0 {
			left = slices.Delete(left, at, at+1)
		}
		switch {
		case at >= 0 || o.Action == plan.Create || o.Action == plan.NoOp:
		case o.Action == plan.Delete:
			problems = append(problems, fmt.Sprintf("the plan would remove the output %s; if nothing reads it, add it to outputs of an expect block", o.Name))
		default:
			problems = append(problems, fmt.Sprintf("the plan would change the output %s", o.Name))
		}
	}
	for _, name := range left {
		problems = append(problems, fmt.Sprintf("the file expects the output %s to change, and the plan keeps it", name))
	}
	return problems
}
