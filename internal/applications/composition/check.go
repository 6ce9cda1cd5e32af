// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition

import (
	"bytes"
	stdjson "encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/expression"
	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
	"github.com/yuba-dev/yuba/internal/tofu/module"
)

// The fields of another resource that expressions read.
const (
	fieldName, fieldStatus, fieldOutput, fieldSecret = "name", "status", "outputs", "outputsSecret"
)

// reads checks what the expressions of a text read; r is nil for an output.
func (p *parsing) reads(r *Resource, t *text) {
	for _, part := range t.parts {
		if part.code == nil {
			continue
		}
		p.fields(part.code)
		for _, access := range part.code.Reads(varResources) {
			p.access(r, access, part.written)
		}
	}
}

// fields checks that the schema has the fields that an expression reads.
func (p *parsing) fields(code *expression.Expression) {
	for _, access := range code.Reads(varSpec) {
		var names []string
		for _, step := range access {
			name, ok := step.(string)
			if !ok {
				break // an element of a list
			}
			names = append(names, name)
		}
		if p.spec != nil && !p.spec.HasField(names) {
			p.wrong("the schema of the kind has no field spec.%s", strings.Join(names, "."))
		}
	}
}

// access checks a part of resources that an expression reads.
func (p *parsing) access(r *Resource, access expression.Access, written string) {
	step := func(i int) string {
		if i < len(access) {
			name, _ := access[i].(string)
			return name
		}
		return ""
	}
	id, field := step(0), step(1)
	other := p.byID[id]
	switch {
	case id == "":
		p.wrong("${%s}: name the resource, as in resources.ID.name", written)
		return
	case other == nil:
		p.wrong("${%s}: there is no resource %q", written, id)
		return
	case other == r:
		p.wrong("${%s}: a resource cannot refer to itself", written)
		return
	case !slices.Contains([]string{fieldName, fieldStatus, fieldOutput, fieldSecret}, field):
		p.wrong("${%s}: a resource has name, status, outputs and outputsSecret", written)
		return
	case field == fieldStatus && (other.GVK.Kind == kindSecret || other.GVK.Kind == kindConfigMap) && other.GVK.Group == "",
		field == fieldOutput && !other.IsStack() && !other.IsInstance(), field == fieldSecret && !other.IsStack():
		p.wrong("${%s}: a %s has no %s", written, other.GVK.Kind, field)
		return
	}
	p.need(r, id)
	if !other.IsStack() {
		return
	}
	switch name := step(2); {
	case field == fieldSecret:
		other.all = true
	case field == fieldOutput && name == "":
		p.wrong("${%s}: name the output, as in resources.%s.outputs.NAME", written, id)
	case field == fieldOutput && !slices.Contains(other.outputs, name):
		other.outputs = append(other.outputs, name)
	}
}

// isProgram reports whether a field of a stack is a program, or a template of its own. Neither has
// expressions, so that no value of a user becomes a part of it.
func isProgram(path []string) bool {
	return len(path) > 1 && path[0] == "spec" && slices.Contains([]string{"inline", "values", "healthChecks", "webhooks"}, path[1])
}

// decided are the fields of a stack that the instance decides, or that nobody does.
var decided = []string{"destroy", "suspend", "force", "planOnly", "breakTheGlass"}

// lateProgram is a program file that a stack renders when it runs: with values of users.
const lateProgram = "main.tf.tpl"

func (p *parsing) stack(r *Resource) {
	spec, ok := r.template["spec"].(map[string]any)
	if !ok {
		p.wrong("spec is not an object")
		return
	}
	for _, field := range decided {
		if _, has := spec[field]; has {
			p.wrong("spec.%s cannot be set", field)
		}
	}
	files, _ := spec["inline"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if path.Base(name) == lateProgram {
			p.wrong("spec.inline.%s: programs of compositions are not rendered a second time; name the file main.tf, and use variables", lateProgram)
		}
	}
	content, err := stdjson.Marshal(spec)
	if err == nil {
		d := stdjson.NewDecoder(bytes.NewReader(content))
		d.DisallowUnknownFields()
		err = d.Decode(&infrav1.TerraformSpec{})
	}
	if err != nil {
		p.wrong("spec: %v", err)
		return
	}
	own, ok := spec[fieldOutputs].(map[string]any)
	if !ok {
		return
	}
	name, _ := own["name"].(string)
	if before, after, found := strings.Cut(name, textName); !found || strings.ContainsAny(before+after, "${}") {
		p.wrong("spec.%s.name must contain ${metadata.name} once, such as %s-outputs", fieldOutputs, r.Name(textName))
	}
}

// order sorts the resources by their needs.
func (p *parsing) order(b *appv1.CompositionBackend) {
	nodes := make([]graph.Node, 0, len(b.Resources))
	names := map[graph.Identity]string{}
	for _, r := range p.c.Resources {
		u := r.sketch()
		if other := names[graph.IdentityOf(u)]; other != "" {
			p.wrong("%s and %s make the same object", other, r.ID)
			return
		}
		names[graph.IdentityOf(u)] = r.ID
		nodes = append(nodes, graph.Node{ID: r.ID, Object: u, Declared: p.needs[r.ID], Gated: true})
	}
	g, err := graph.Of(nodes)
	if err != nil {
		p.wrong("%s", strings.ReplaceAll(err.Error(), "dependIds form", "the resources' references form"))
		return
	}
	p.c.Resources = p.c.Resources[:0]
	for _, id := range g.Order() {
		r := p.byID[id]
		for _, e := range g.Needs(id) {
			r.Needs = append(r.Needs, e.To)
		}
		slices.SortFunc(r.Needs, func(a, b string) int {
			return slices.Index(g.Order(), a) - slices.Index(g.Order(), b)
		})
		slices.Sort(r.outputs)
		p.c.Resources = append(p.c.Resources, r)
	}
}

// sketch is the object as far as it is known without an instance. Its references by name are found.
func (r *Resource) sketch() *unstructured.Unstructured {
	const instance, namespace = "name", "namespace"
	u := &unstructured.Unstructured{Object: runtime.DeepCopyJSON(r.template)}
	replace(u.Object, func(s string) string {
		return strings.ReplaceAll(strings.ReplaceAll(s, textName, instance), textNamespace, namespace)
	})
	u.SetNamespace(namespace)
	u.SetName(r.Name(instance))
	if name := r.OutputsSecret(instance); name != "" {
		if spec, ok := u.Object["spec"].(map[string]any); ok {
			spec[fieldOutputs] = map[string]any{"name": name}
		}
	}
	return u
}

// replace changes all texts in a value, but no keys.
func replace(value any, change func(string) string) any {
	switch v := value.(type) {
	case string:
		return change(v)
	case map[string]any:
		for key, element := range v {
			v[key] = replace(element, change)
		}
	case []any:
		for i, element := range v {
			v[i] = replace(element, change)
		}
	}
	return value
}

// programs checks that inline programs have the outputs that expressions read, and the variables that
// the template sets.
func (p *parsing) programs() {
	for _, r := range p.c.Resources {
		spec, _ := r.template["spec"].(map[string]any)
		inline, _ := spec["inline"].(map[string]any)
		if !r.IsStack() || len(inline) == 0 {
			continue
		}
		p.at = where(r.ID) + ".template.spec"
		files := map[string][]byte{}
		for name, content := range inline {
			files[name] = []byte(fmt.Sprint(content))
		}
		m, diagnostics := module.Parse(files)
		for _, d := range diagnostics {
			if d.Severity == diagnostic.Error {
				p.wrong("inline: %s: %s (%s:%d)", d.Summary, d.Detail, d.File, d.Line)
			}
		}
		if m == nil || p.list.Err() != nil {
			continue
		}
		p.program(r, spec, m)
	}
}

func (p *parsing) program(r *Resource, spec map[string]any, m *module.Module) {
	for _, name := range r.outputs {
		switch o := m.Outputs[name]; {
		case o == nil:
			p.wrong("an expression reads the output %q, which the program does not have", name)
		case o.Sensitive:
			p.wrong("an expression reads the output %q, which is sensitive. Pass it by varsFrom with name: ${resources.%s.outputsSecret}", name, r.ID)
		}
	}
	given := map[string]bool{}
	list, _ := spec["vars"].([]any)
	for _, v := range list {
		one, _ := v.(map[string]any)
		name, _ := one["name"].(string)
		given[name] = true
		if m.Variables[name] == nil {
			p.wrong("vars: the program has no variable %q", name)
		}
	}
	if spec["varsFrom"] != nil || spec["readInputsFromSecrets"] != nil || spec["consumes"] != nil || spec["values"] != nil || spec["tfVarsFiles"] != nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(m.Variables)) {
		if m.Variables[name].Required() && !given[name] {
			p.wrong("vars: the program's variable %q needs a value", name)
		}
	}
}
