// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tofu/module"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// source is a Secret or ConfigMap that values are taken from.
type source struct{ kind, namespace, name string }

// given are the texts of the ConfigMaps and Secrets that the template itself makes, by key; a key
// whose text is not known here is nil.
type given map[source]map[string]*string

func (c *checker) given(objects []render.Object) given {
	known := given{}
	for _, o := range objects {
		kind := o.Object.GetKind()
		if o.Object.GetAPIVersion() != "v1" || kind != "Secret" && kind != "ConfigMap" {
			continue
		}
		texts := map[string]*string{}
		for _, field := range []string{"data", "binaryData", "stringData"} {
			data, _, _ := unstructured.NestedMap(o.Object.Object, field)
			for key, value := range data {
				text, is := value.(string)
				// What is in base64 is told by the run.
				if is && (field == "stringData" || field == "data" && kind == "ConfigMap") {
					texts[key] = &text
				} else if _, already := texts[key]; !already {
					texts[key] = nil
				}
			}
		}
		known[source{kind, o.Object.GetNamespace(), o.Object.GetName()}] = texts
	}
	return known
}

// setting is what a stack gives to its program's variables, as far as that is known.
type setting struct {
	// values are known, assigned are names whose value is not.
	values   map[string]json.RawMessage
	assigned map[string]module.Position
	// named are the names that the object writes out, with the fields that do.
	named map[string]string
	// env are names of environment variables.
	env []string
	// open is true when something of which nothing is known may set any other variable.
	open bool
}

// variables holds what a stack sets against what its program declares.
func (c *checker) variables(s *stack, known given) {
	if s.module == nil {
		return
	}
	set := c.setting(s, known)
	if set.open || s.joined {
		for name := range s.module.Variables {
			if _, is := set.values[name]; !is {
				set.assigned[name] = module.Position{}
			}
		}
	}
	_, problems, _ := module.CheckVariables(s.module.WithAssigned(set.assigned), set.values, set.env...)
	for _, p := range problems {
		severity := Error
		_, valued := set.values[p.Variable]
		if valued && c.subject.Invented {
			severity = Warning // a row that is real may have another value
		}
		where := ""
		if field := set.named[p.Variable]; field != "" {
			where = field + ": "
		}
		f := c.find(severity, s.id, "%svariable %q: %s", where, p.Variable, p.Reason)
		f.File, f.Line = path.Join(rootOf(s.obj), p.Pos.File), p.Pos.Line
	}
	if s.joined {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(set.named)) {
		if s.module.Variables[name] == nil {
			c.undeclared(s, name, set.named[name])
		}
	}
}

// undeclared tells of a value that reaches nobody. Names in capital letters out of varsFrom may be
// meant for providers, which find them in the environment.
func (c *checker) undeclared(s *stack, name, field string) {
	declared := "it declares none"
	if names := s.module.VariableNames(); len(names) > 0 {
		declared = "it declares " + strings.Join(names, ", ")
	}
	if c.subject.EnvPrefixes != nil && name == strings.ToUpper(name) {
		declared += "; its name does not have a prefix of environment variables for programs either"
	}
	switch {
	case strings.HasPrefix(field, "spec.varsFrom") && c.lent(name):
	case strings.HasPrefix(field, "spec.varsFrom"), field == "spec.values":
		c.find(Warning, s.id, "%s: the program does not declare a variable %q; %s", field, name, declared)
	default:
		c.find(Error, s.id, "%s: the program does not declare a variable %q; %s", field, name, declared)
	}
}

// lent tells whether a key of varsFrom may be meant for the environment. Which ones get there is
// the server's to say.
func (c *checker) lent(name string) bool {
	if c.subject.EnvPrefixes == nil {
		return name == strings.ToUpper(name)
	}
	return slices.ContainsFunc(c.subject.EnvPrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

func (c *checker) setting(s *stack, known given) *setting {
	set := &setting{values: map[string]json.RawMessage{}, assigned: map[string]module.Position{}, named: map[string]string{}}
	spec, namespace := &s.obj.Spec, s.obj.Namespace
	if _, program := s.obj.ValuesHCL(); spec.Values != nil && !program {
		set.literal("values", "spec.values", spec.Values.Raw)
	}
	for i := range spec.Vars {
		set.variable(fmt.Sprintf("spec.vars[%d]", i), &spec.Vars[i], namespace, known)
	}
	for i := range spec.VarsFrom {
		c.from(set, fmt.Sprintf("spec.varsFrom[%d]", i), &spec.VarsFrom[i], namespace, known)
	}
	for _, e := range spec.Env {
		set.env = append(set.env, e.Name)
	}
	// What comes with a whole object may be TF_VAR_ of anything.
	set.open = set.open || len(spec.EnvFrom) > 0
	if pod := spec.RunnerPodTemplate; pod != nil {
		for _, e := range pod.Spec.Env {
			set.env = append(set.env, e.Name)
		}
		set.open = set.open || len(pod.Spec.EnvFrom) > 0
	}
	for _, name := range spec.TfVarsFiles {
		set.file(s, name)
	}
	return set
}

// literal is a value that stands in the object, unless it is a template that is rendered when the
// run begins.
func (set *setting) literal(name, field string, raw []byte) {
	set.named[name] = field
	if template.IsDocument(raw) {
		set.unknown(name)
		return
	}
	delete(set.assigned, name)
	set.values[name] = raw
}

func (set *setting) unknown(name string) {
	delete(set.values, name)
	set.assigned[name] = module.Position{}
}

func (set *setting) text(name, text string) {
	raw, err := json.Marshal(text)
	if err != nil {
		set.unknown(name)
		return
	}
	delete(set.assigned, name)
	set.values[name] = raw
}

func (set *setting) variable(field string, v *infrav1.Variable, namespace string, known given) {
	if v.Name == "" {
		return // the API says so
	}
	switch {
	case v.Value != nil:
		// Later sources win; only spec.values is rendered.
		set.named[v.Name] = field
		delete(set.assigned, v.Name)
		set.values[v.Name] = v.Value.Raw
	case v.ValueFrom != nil:
		set.named[v.Name] = field
		set.keyOf(v, namespace, known)
	default:
		set.literal(v.Name, field, []byte("null"))
	}
}

func (set *setting) keyOf(v *infrav1.Variable, namespace string, known given) {
	var texts map[string]*string
	var key string
	switch from := v.ValueFrom; {
	case from.SecretKeyRef != nil:
		texts, key = known[source{"Secret", namespace, from.SecretKeyRef.Name}], from.SecretKeyRef.Key
	case from.ConfigMapKeyRef != nil:
		texts, key = known[source{"ConfigMap", namespace, from.ConfigMapKeyRef.Name}], from.ConfigMapKeyRef.Key
	}
	if text := texts[key]; text != nil {
		set.text(v.Name, *text)
		return
	}
	set.unknown(v.Name)
}

// from takes the keys of an object: of one that the template makes, of outputs that a stack of the
// template writes, or of anything.
func (c *checker) from(set *setting, field string, from *infrav1.VarsReference, namespace string, known given) {
	texts, ours := known[source{from.Kind, namespace, from.Name}]
	if out := c.outputs[secretName{namespace, from.Name}]; from.Kind == "Secret" && out != nil && out.keys != nil {
		ours, texts = true, maps.Clone(texts)
		if texts == nil {
			texts = map[string]*string{}
		}
		for key := range out.keys {
			texts[key] = nil
		}
	}
	take := func(name string, text *string) {
		if text == nil {
			set.unknown(name)
			return
		}
		set.text(name, *text)
	}
	for _, wanted := range from.VarsKeys {
		key, name, renamed := strings.Cut(wanted, ":")
		if !renamed {
			name = key
		}
		set.named[name] = field
		take(name, texts[key])
	}
	switch {
	case len(from.VarsKeys) > 0:
	case !ours:
		set.open = true
	default:
		for key, text := range texts {
			take(key, text)
		}
	}
}

// file takes what a file of values assigns. One that is not in the program may come from a Secret.
func (set *setting) file(s *stack, name string) {
	clean := strings.TrimPrefix(path.Clean("/"+name), "/")
	content, ok := s.files[clean]
	if !ok {
		set.open = true
		return
	}
	assigned, diags := module.Assignments(clean, []byte(content))
	if diags.HasErrors() {
		set.open = true
		return
	}
	for variable := range assigned {
		set.unknown(variable)
	}
}
