// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

// Package origins finds where the inputs of a stack come from, for the page: its variables in the order
// in which they override each other, its environment, files, backend and tokens.
//
// It is pure: objects in, plain data out. It has no value that a Secret holds.
package origins

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// maxValue limits a value that is shown, in characters.
const maxValue = 2000

// Input is one input of a stack.
type Input struct {
	// Group is what it is: "Variables", "Environment", "Files", "Backend" or "Program".
	Group string
	// Name is its name; empty if Says tells which names there are.
	Name string
	// From is where it comes from, in words. Stack is the stack whose output it is, as NAMESPACE/NAME.
	From, Stack string
	// Value is shown; Secret says that it is not.
	Value  string
	Secret bool
	// Says is what else there is to know. Over names what it overrides, Lost what overrides it.
	Says string
	Lost string
}

// Facts are what inputs are found from.
type Facts struct {
	Stack *infrav1.Terraform
	// ConfigMaps are those that the person may read, by name; nil for one that does not exist.
	ConfigMaps map[string]*corev1.ConfigMap
	// Unread says why one cannot be read.
	Unread map[string]string
	// Writers are the stacks that write outputs to a Secret of the namespace, by its name.
	Writers map[string]string
}

// ConfigMapsOf names the ConfigMaps that a stack reads.
func ConfigMapsOf(t *infrav1.Terraform) []string {
	var names []string
	for _, v := range t.Spec.Vars {
		if v.ValueFrom != nil && v.ValueFrom.ConfigMapKeyRef != nil {
			names = append(names, v.ValueFrom.ConfigMapKeyRef.Name)
		}
	}
	for _, v := range t.Spec.VarsFrom {
		if v.Kind == "ConfigMap" {
			names = append(names, v.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// Of finds the inputs of a stack.
func Of(f Facts) []Input {
	b := &builder{Facts: f}
	b.program()
	b.variables()
	b.environment()
	b.files()
	b.backend()
	b.overridden()
	return b.inputs
}

type builder struct {
	Facts
	inputs []Input
}

func (b *builder) add(i Input) { b.inputs = append(b.inputs, i) }

func (b *builder) program() {
	t := b.Stack
	if files, inline := t.InlineProgram(); inline {
		b.add(Input{Group: "Program", Name: strings.Join(slices.Sorted(maps.Keys(files)), ", "), From: "the stack's own object"})
		return
	}
	if ref := t.Spec.SourceRef; ref != nil {
		b.add(Input{Group: "Program", Name: cmp.Or(strings.TrimPrefix(t.Spec.Path, "./"), "the whole source"), From: ref.Kind + " " + t.SourceNamespace() + "/" + ref.Name,
			Says: t.Status.LastAttemptedRevision})
	}
}

// variables are in the order of their precedence, the weakest first.
func (b *builder) variables() {
	t := b.Stack
	if v := t.Spec.Values; v != nil {
		if _, program := t.ValuesHCL(); !program {
			b.add(Input{Group: "Variables", Name: "values", From: "spec.values", Value: cut(string(v.Raw))})
		}
	}
	for _, v := range t.Spec.Vars {
		in := Input{Group: "Variables", Name: v.Name, From: "spec.vars"}
		if v.Value != nil {
			in.Value = cut(text(v.Value.Raw))
		}
		b.add(b.reference(in, v.ValueFrom))
	}
	for _, v := range t.Spec.VarsFrom {
		b.varsFrom(v)
	}
	for _, file := range t.Spec.TfVarsFiles {
		b.add(Input{Group: "Variables", From: "file " + file + " of the source", Says: "all variables that it sets; they override the others"})
	}
	for i := range t.Spec.Consumes {
		b.consumed(&t.Spec.Consumes[i])
	}
	for _, in := range t.Spec.ReadInputsFromSecrets {
		b.add(b.secret(Input{Group: "Variables", Name: "." + in.As, Says: "for templates in spec.values"}, in.Name, ""))
	}
}

func (b *builder) consumed(c *infrav1.Consumption) {
	in := Input{Group: "Variables", Name: c.As, From: "contract " + strings.TrimSpace(c.Contract+" "+c.Version), Stack: b.Stack.ConsumesFrom(*c)}
	if len(c.Reads) > 0 {
		in.Says = "reads " + strings.Join(c.Reads, ", ")
	}
	if s := b.Stack.Status.Contracts; s != nil {
		for i := range s.Consumes {
			if is := &s.Consumes[i]; is.As == c.As && is.Contract == c.Contract {
				in.Secret = is.Secret
				if is.Read != nil && is.Read.Number > 0 {
					in.Says = strings.TrimPrefix(in.Says+"; revision "+fmt.Sprint(is.Read.Number)+" of version "+is.Read.Version, "; ")
				}
				if is.Problem != "" {
					in.Says = is.Problem
				}
			}
		}
	}
	b.add(in)
}

// varsFrom is a Secret or ConfigMap whose keys become variables.
func (b *builder) varsFrom(v infrav1.VarsReference) {
	says := ""
	if v.Optional {
		says = "optional"
	}
	if v.Kind != "ConfigMap" {
		if len(v.VarsKeys) == 0 {
			b.add(b.secret(Input{Group: "Variables", Says: strings.TrimPrefix(says+"; all its keys", "; ")}, v.Name, ""))
		}
		for _, pair := range v.VarsKeys {
			key, name := renamed(pair)
			b.add(b.secret(Input{Group: "Variables", Name: name, Says: says}, v.Name, key))
		}
		return
	}
	m, known := b.ConfigMaps[v.Name]
	pairs := v.VarsKeys
	if len(pairs) == 0 && m != nil {
		pairs = slices.Sorted(maps.Keys(m.Data))
	}
	if len(pairs) == 0 {
		b.add(Input{Group: "Variables", From: "ConfigMap " + v.Name, Says: cmp.Or(b.Unread[v.Name], says, "all its keys")})
	}
	for _, pair := range pairs {
		key, name := renamed(pair)
		in := Input{Group: "Variables", Name: name, From: "ConfigMap " + v.Name + ", key " + key, Says: says}
		b.add(b.configured(in, m, known, v.Name, key))
	}
}

// renamed reads an entry of varsKeys, KEY or KEY:NAME.
func renamed(pair string) (key, name string) {
	key, name, _ = strings.Cut(pair, ":")
	return key, cmp.Or(name, key)
}

func (b *builder) configured(in Input, m *corev1.ConfigMap, known bool, name, key string) Input {
	switch value, has := "", false; {
	case b.Unread[name] != "":
		in.Says = b.Unread[name]
	case known && m == nil:
		in.Says = "this ConfigMap does not exist"
	case m != nil:
		if value, has = m.Data[key]; has {
			in.Value = cut(value)
		} else {
			in.Says = "this key is missing"
		}
	}
	return in
}

// secret completes an input from a Secret, which is perhaps written by a stack.
func (b *builder) secret(in Input, name, key string) Input {
	in.From, in.Secret = "Secret "+name, true
	if key != "" {
		in.From += ", key " + key
	}
	if by := b.Writers[name]; by != "" && by != b.Stack.Namespace+"/"+b.Stack.Name {
		in.Stack = by
		in.From = "output of " + by + " through " + in.From
	}
	return in
}

// reference completes an input whose value is elsewhere.
func (b *builder) reference(in Input, from *corev1.EnvVarSource) Input {
	switch {
	case from == nil:
	case from.SecretKeyRef != nil:
		return b.secret(in, from.SecretKeyRef.Name, from.SecretKeyRef.Key)
	case from.ConfigMapKeyRef != nil:
		ref := from.ConfigMapKeyRef
		in.From = "ConfigMap " + ref.Name + ", key " + ref.Key
		m, known := b.ConfigMaps[ref.Name]
		return b.configured(in, m, known, ref.Name, ref.Key)
	}
	return in
}

func (b *builder) environment() {
	for _, e := range b.Stack.Spec.EnvFrom {
		switch {
		case e.SecretRef != nil:
			b.add(b.secret(Input{Group: "Environment", Says: "all its keys" + prefixed(e.Prefix)}, e.SecretRef.Name, ""))
		case e.ConfigMapRef != nil:
			b.add(Input{Group: "Environment", From: "ConfigMap " + e.ConfigMapRef.Name, Says: "all its keys" + prefixed(e.Prefix)})
		}
	}
	for _, e := range b.Stack.Spec.Env {
		in := Input{Group: "Environment", Name: e.Name, From: "spec.env", Value: cut(e.Value)}
		if e.ValueFrom != nil {
			in = b.reference(in, e.ValueFrom)
		}
		b.add(in)
	}
	for _, token := range b.Stack.Spec.IdentityTokens {
		b.add(Input{Group: "Environment", Name: "identity token", From: "service account " + b.Stack.RunnerServiceAccount(), Says: "for " + token.Audience, Secret: true})
	}
}

func prefixed(prefix string) string {
	if prefix == "" {
		return ""
	}
	return ", with the prefix " + prefix
}

func (b *builder) files() {
	for _, f := range b.Stack.Spec.FileMappings {
		b.add(b.secret(Input{Group: "Files", Name: f.Location + ": " + f.Path}, f.SecretRef.Name, f.SecretRef.Key))
	}
	if ref := b.Stack.Spec.CliConfigSecretRef; ref != nil {
		b.add(b.secret(Input{Group: "Files", Name: "configuration of the tool"}, ref.Name, ""))
	}
}

func (b *builder) backend() {
	t := b.Stack
	switch c := t.Spec.BackendConfig; {
	case t.Spec.Cloud != nil:
		b.add(Input{Group: "Backend", Name: "cloud", From: "spec.cloud", Says: "a service keeps the state"})
	case t.KeepsOwnState():
		b.add(Input{Group: "Backend", From: "spec.backendConfig", Says: "the stack keeps its state in a backend of its own"})
	case c != nil || t.WorkspaceName() != infrav1.DefaultWorkspace:
		b.add(Input{Group: "Backend", Name: "state", From: "Secret " + t.StateSecretName(), Says: "workspace " + t.WorkspaceName(), Secret: true})
	}
	for _, from := range t.Spec.BackendConfigsFrom {
		in := Input{Group: "Backend", Says: cmp.Or(strings.Join(from.Keys, ", "), "all its keys")}
		if from.Kind == "ConfigMap" {
			in.From = "ConfigMap " + from.Name
			b.add(in)
			continue
		}
		b.add(b.secret(in, from.Name, ""))
	}
}

// overridden marks variables that a later one of the same name overrides.
func (b *builder) overridden() {
	last := map[string]string{}
	for i := len(b.inputs) - 1; i >= 0; i-- {
		in := &b.inputs[i]
		if in.Name == "" || in.Group != "Variables" && in.Group != "Environment" {
			continue
		}
		id := in.Group + "\x00" + in.Name
		if by, found := last[id]; found {
			in.Lost = by
		} else {
			last[id] = in.From
		}
	}
}

// text is a JSON value as people write it.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}

func cut(value string) string { return shorten.Cut(value, maxValue) }
