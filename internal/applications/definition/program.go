// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/applications/variables"
	"github.com/yuba-dev/yuba/internal/kit/nearest"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// Where the findings about programs belong.
const (
	terraformField = "spec.backend.terraform"
	outputsField   = terraformField + ".outputs"
)

// Elsewhere reports whether the program is in a source or a registry: then [Definition.Against] has to
// check it once it is known.
func (p *Definition) Elsewhere() bool { return p.Terraform != nil && len(p.Terraform.Inline) == 0 }

// Joined reports whether files of Secrets become a part of the program, so that nobody knows its
// variables before it runs.
func (p *Definition) Joined() bool {
	spec, err := typed[infrav1.TerraformSpec](p.Template)
	return err == nil && slices.ContainsFunc(spec.FileMappings, func(m infrav1.FileMapping) bool { return m.Location == infrav1.FileLocationWorkspace })
}

// Against compares the definition with what its program declares: each field has a variable of its type,
// each required variable has a value, and the outputs exist.
func (p *Definition) Against(m *module.Module) finding.List {
	called := p.Terraform.Module != ""
	given, err := p.given(called)
	if err != nil {
		return finding.List{{Severity: finding.Error, Field: terraformField + ".template", Problem: err.Error()}}
	}
	list := p.Table.Check(m, given).Below(terraformField + ".variables")
	for _, name := range p.Terraform.Outputs {
		switch output := m.Outputs[name]; {
		case output == nil:
			list = append(list, finding.Finding{Severity: finding.Error, Field: outputsField,
				Problem: fmt.Sprintf("the program has no output %q", name), Advice: similarOutput(m, name)})
		case called && output.Sensitive && !slices.Contains(p.Terraform.SensitiveOutputs, name):
			list = append(list, finding.Finding{Severity: finding.Error, Field: outputsField, Pos: output.Pos.String(),
				Problem: fmt.Sprintf("the output %q of the module is sensitive", name), Advice: "name it in sensitiveOutputs, too"})
		}
	}
	return list
}

// similarOutput suggests an output.
func similarOutput(m *module.Module, name string) string {
	var names []string
	for other := range m.Outputs {
		names = append(names, other)
	}
	slices.Sort(names)
	if other := nearest.Word(name, names, min(3, len(name)/3)); other != "" {
		return fmt.Sprintf("it has %s (%s)", other, m.Outputs[other].Pos)
	}
	return "declare it, or remove it from the list"
}

// given are the variables that the template sets itself. Only spec.vars are passed to a called module.
func (p *Definition) given(called bool) (g variables.Given, err error) {
	spec, err := typed[infrav1.TerraformSpec](p.Template)
	if err != nil {
		return g, err
	}
	g.Variables = map[string]json.RawMessage{}
	for _, v := range spec.Vars {
		if v.Value != nil {
			g.Variables[v.Name] = v.Value.Raw
		} else {
			g.Names = append(g.Names, v.Name)
		}
	}
	if called {
		return g, nil
	}
	for _, from := range spec.VarsFrom {
		for _, key := range from.VarsKeys {
			_, alias, renamed := strings.Cut(key, ":")
			if !renamed {
				alias = key
			}
			g.Names = append(g.Names, alias)
		}
		g.Open = g.Open || len(from.VarsKeys) == 0
	}
	g.Open = g.Open || len(spec.TfVarsFiles) > 0
	for _, c := range spec.Consumes {
		g.Names = append(g.Names, c.As)
	}
	for _, e := range spec.Env {
		g.Env = append(g.Env, e.Name)
	}
	return g, nil
}
