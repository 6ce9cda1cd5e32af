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

// source is a Secret or ConfigMap with values.
type source struct{ kind, namespace, name string }

// given are the texts of the ConfigMaps and Secrets of the template, by key; nil if a text is
// unknown.
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
				// Values in base64 are checked by the run.
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

// setting are the values of a program's variables, as far as they are known.
type setting struct {
	// values are the known values, assigned the names with unknown values.
	values   map[string]json.RawMessage
	assigned map[string]module.Position
	// named are the names in the object, with their fields.
	named map[string]string
	// env are names of environment variables.
	env []string
	// open is true if unknown sources may set other variables.
	open bool
}

// variables compares the values of a stack with the declarations of its program.
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
			severity = Warning // a real row may have another value
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

// undeclared reports a value without a variable. Names in capital letters in varsFrom may be meant
// for providers, which read the environment.
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

// lent reports whether a key of varsFrom may be meant for the environment, as the server is
// configured.
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
	// Whole objects may contain TF_VAR_ of any variable.
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

// literal sets a value in the object, unless it is a template that the run renders.
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
		return // the API refuses it
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

// from sets the keys of an object: one of the template, outputs of a stack of the template, or an
// unknown one.
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

// file sets the variables in a file of values. A file that is not in the program may come from a
// Secret.
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
