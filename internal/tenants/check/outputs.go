// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// secretName names a Secret.
type secretName struct{ namespace, name string }

// written is a Secret with the outputs of a stack.
type written struct {
	// id is the stack's.
	id string
	// keys are the keys of the Secret; nil if the program is unknown.
	keys map[string]bool
}

// typeSuffix ends the keys with the types of other keys.
const typeSuffix = "__type"

// has reports whether a key exists, or the key that it is the type of.
func (w *written) has(key string) bool {
	return w.keys[key] || w.keys[strings.TrimSuffix(key, typeSuffix)]
}

// writes records the Secret that a stack writes, and checks its list of outputs.
func (c *checker) writes(s *stack) {
	want := s.obj.Spec.WriteOutputsToSecret
	if want == nil {
		return
	}
	name := secretName{s.obj.Namespace, want.Name}
	if other := c.outputs[name]; other != nil {
		c.find(Error, s.id, "spec.writeOutputsToSecret: the Secret %s already has the outputs of the stack %q", want.Name, other.id)
		return
	}
	out := &written{id: s.id}
	c.outputs[name] = out
	if s.module == nil || s.joined {
		return
	}
	out.keys = map[string]bool{}
	if len(want.Outputs) == 0 {
		for output := range s.module.Outputs {
			out.keys[output] = true
		}
		return
	}
	for i, wanted := range want.Outputs {
		output, alias, _ := strings.Cut(wanted, ":")
		if alias == "" {
			alias = output
		}
		// Do not report it again for objects that read it.
		out.keys[alias] = true
		if s.module.Outputs[output] == nil {
			c.find(Error, s.id, "spec.writeOutputsToSecret.outputs[%d]: the program does not have an output %q; %s", i, output,
				names(slices.Sorted(maps.Keys(s.module.Outputs)), "it has %s", "it has none"))
		}
	}
}

// read checks the outputs that a stack's own templates use. Optional ones may be missing.
func (c *checker) read(s *stack) {
	spec := &s.obj.Spec
	if spec.Values == nil {
		return
	}
	from := map[string]*written{}
	for _, in := range spec.ReadInputsFromSecrets {
		if out := c.outputs[secretName{s.obj.Namespace, in.Name}]; out != nil && out.keys != nil {
			from[in.As] = out
		}
	}
	if len(from) == 0 {
		return
	}
	for _, field := range template.DocumentFields(spec.Values.Raw) {
		if out := from[field.Path[0]]; out != nil && field.Needed && len(field.Path) > 1 && !out.keys[field.Path[1]] {
			c.find(Error, s.id, "spec.values: .%s will have no value: the outputs of the stack %q have no key %q, and %s", strings.Join(field.Path, "."), out.id, field.Path[1],
				names(slices.Sorted(maps.Keys(out.keys)), "these are %s", "it has none"))
		}
	}
}

// names formats a list of names, or says that it is empty.
func names(list []string, some, none string) string {
	if len(list) == 0 {
		return none
	}
	return fmt.Sprintf(some, strings.Join(list, ", "))
}

// keys checks that keys which objects read from outputs exist: an object would wait forever for
// another one.
func (c *checker) keys(objects []render.Object) {
	for _, o := range objects {
		id := graph.IdentityOf(o.Object)
		if out := c.outputs[secretName{id.Namespace, id.Name}]; id.Group == "" && id.Kind == "Secret" && out != nil {
			c.find(Error, o.ID, "the stack %q writes its outputs to a Secret of this name, and does not overwrite one that it does not own", out.id)
		}
		for _, ref := range references(o.Object.Object) {
			out := c.outputs[secretName{cmp.Or(ref.namespace, id.Namespace), ref.name}]
			if out == nil || out.keys == nil || ref.optional || out.has(ref.key) {
				continue
			}
			c.find(Error, o.ID, "%s: the Secret %s will have no key %q: it has the outputs of the stack %q, and %s", ref.path, ref.name, ref.key, out.id,
				names(slices.Sorted(maps.Keys(out.keys)), "these are %s", "that has none"))
		}
	}
}

// reference is a key of a Secret that an object reads.
type reference struct {
	path, name, key string
	optional        bool
	// namespace is the Secret's; empty for the object's own.
	namespace string
}

// references finds the keys of Secrets that an object reads, by the usual fields of Kubernetes'
// kinds and stacks.
func references(object map[string]any) []reference {
	var found []reference
	walk("", object, &found)
	return found
}

// maxDepth limits the depth of the search.
const maxDepth = 100

func walk(at string, value any, found *[]reference) {
	if strings.Count(at, ".") > maxDepth {
		return
	}
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			walk(fmt.Sprintf("%s[%d]", at, i), item, found)
		}
	case map[string]any:
		if v["kind"] == "Secret" {
			*found = append(*found, listed(at, v)...)
		}
		for _, field := range slices.Sorted(maps.Keys(v)) {
			below := strings.TrimPrefix(at+"."+field, ".")
			if inner, is := v[field].(map[string]any); is {
				*found = append(*found, fielded(below, field, inner)...)
			}
			walk(below, v[field], found)
		}
	}
}

// listed returns the keys in spec.varsFrom and spec.backendConfigsFrom of a stack (the former may
// rename them), and in spec.valuesFrom of a HelmRelease.
func listed(at string, v map[string]any) []reference {
	var refs []reference
	name, _ := v["name"].(string)
	optional, _ := v["optional"].(bool)
	if key, _ := v["valuesKey"].(string); key != "" && name != "" {
		refs = append(refs, reference{path: at + ".valuesKey", name: name, key: key, optional: optional})
	}
	for _, field := range []string{"varsKeys", "keys"} {
		list, _ := v[field].([]any)
		for i, item := range list {
			key, _ := item.(string)
			if field == "varsKeys" {
				key, _, _ = strings.Cut(key, ":")
			}
			if key == "" || name == "" {
				continue
			}
			refs = append(refs, reference{path: fmt.Sprintf("%s.%s[%d]", at, field, i), name: name, key: key, optional: optional})
		}
	}
	return refs
}

// fielded returns the keys in fields of the usual names: one in secretKeyRef and secretRef, the
// items in a volume's secret.
func fielded(at, field string, v map[string]any) []reference {
	name, _ := v["name"].(string)
	optional, _ := v["optional"].(bool)
	switch field {
	case "secretKeyRef", "secretRef":
		if key, _ := v["key"].(string); key != "" && name != "" {
			namespace, _ := v["namespace"].(string)
			return []reference{{at, name, key, optional, namespace}}
		}
	case "secret":
		if volume, _ := v["secretName"].(string); volume != "" {
			name = volume
		}
		var refs []reference
		items, _ := v["items"].([]any)
		for i, item := range items {
			entry, _ := item.(map[string]any)
			if key, _ := entry["key"].(string); key != "" && name != "" {
				refs = append(refs, reference{path: fmt.Sprintf("%s.items[%d]", at, i), name: name, key: key, optional: optional})
			}
		}
		return refs
	}
	return nil
}
