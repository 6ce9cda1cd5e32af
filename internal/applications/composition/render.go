// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition

import (
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// Instance is what expressions read of an instance.
type Instance struct {
	Name, Namespace string
	Spec            map[string]any
}

// Seen is what expressions read of a resource that is ready.
type Seen struct {
	Name            string
	Status, Outputs map[string]any
	OutputsSecret   string
}

func (s Seen) value() map[string]any {
	v := map[string]any{fieldName: s.Name, fieldStatus: orEmpty(s.Status), fieldOutput: orEmpty(s.Outputs)}
	if s.OutputsSecret != "" {
		v[fieldSecret] = s.OutputsSecret
	}
	return v
}

func orEmpty(m map[string]any) map[string]any {
	if m == nil {
		return map[string]any{}
	}
	return m
}

func (i *Instance) values(seen map[string]Seen) map[string]any {
	resources := map[string]any{}
	for id, s := range seen {
		resources[id] = s.value()
	}
	return map[string]any{varSpec: orEmpty(i.Spec), varMetadata: map[string]any{"name": i.Name, "namespace": i.Namespace}, varResources: resources}
}

// Included lists the ids of the resources that an instance has. One that needs another without it is
// left out, too.
func (c *Composition) Included(ctx context.Context, i *Instance) (map[string]bool, error) {
	included := map[string]bool{}
	values := i.values(nil)
	for _, r := range c.Resources {
		in := true
		for _, need := range r.Needs {
			in = in && included[need]
		}
		for _, cond := range r.include {
			if !in {
				break
			}
			yes, err := cond.holds(ctx, values)
			if err != nil {
				return nil, fmt.Errorf("includeWhen of resource %s: %w", r.ID, err)
			}
			in = yes
		}
		included[r.ID] = in
	}
	return included, nil
}

func (c *condition) holds(ctx context.Context, values map[string]any) (bool, error) {
	value, some, err := c.code.Value(ctx, values)
	if err != nil {
		return false, explain(err, c.written)
	}
	yes, ok := value.(bool)
	if some && !ok {
		return false, fmt.Errorf("${%s} is not true or false", c.written)
	}
	return yes, nil
}

// Gated reports whether the resource says itself when it is ready.
func (r *Resource) Gated() bool { return len(r.ready) > 0 }

// Ready reports whether a resource with readyWhen is ready, and else why not.
func (r *Resource) Ready(ctx context.Context, self Seen) (bool, string) {
	values := map[string]any{varSelf: self.value()}
	for _, cond := range r.ready {
		yes, err := cond.holds(ctx, values)
		switch {
		case err != nil:
			return false, fmt.Sprintf("readyWhen %s is not known yet: %v", cond.written, err)
		case !yes:
			return false, "readyWhen " + cond.written + " is not true yet"
		}
	}
	return true, ""
}

// Object makes the object of an instance. seen has the resources that it needs.
func (r *Resource) Object(ctx context.Context, i *Instance, seen map[string]Seen) (*unstructured.Unstructured, error) {
	m := making{ctx: ctx, r: r, values: i.values(seen)}
	value, _, err := m.of(nil, r.template)
	if err != nil {
		return nil, err
	}
	u := &unstructured.Unstructured{Object: value.(map[string]any)} //nolint:forcetypeassert // an object stays one
	u.SetName(r.Name(i.Name))
	u.SetNamespace(i.Namespace)
	if secret := r.OutputsSecret(i.Name); secret != "" {
		spec := u.Object["spec"].(map[string]any) //nolint:forcetypeassert // checked by parsing
		own, _ := spec[fieldOutputs].(map[string]any)
		if own == nil {
			own = map[string]any{}
			if !r.all {
				own["outputs"] = texts(r.outputs)
			}
		}
		own["name"] = secret
		spec[fieldOutputs] = own
	}
	if r.GVK.GroupKind() == secrets {
		return u, r.encode(u.Object)
	}
	return u, nil
}

// encode moves the texts of a Secret to its data, as the API does. The API never removes a key from data
// that comes from stringData, even when stringData loses it.
func (r *Resource) encode(secret map[string]any) error {
	given, some := secret[fieldStringData]
	if !some {
		return nil
	}
	plain, ok := given.(map[string]any)
	data, _ := secret[fieldData].(map[string]any)
	if given != nil && !ok || data == nil && secret[fieldData] != nil {
		return fmt.Errorf("resource %s: data and stringData of a Secret are objects of texts", r.ID)
	}
	if data == nil {
		data = make(map[string]any, len(plain))
	}
	for _, key := range slices.Sorted(maps.Keys(plain)) {
		text, ok := plain[key].(string)
		if !ok {
			return fmt.Errorf("resource %s, stringData.%s: it is not a text. Put it into quotes", r.ID, key)
		}
		data[key] = base64.StdEncoding.EncodeToString([]byte(text))
	}
	delete(secret, fieldStringData)
	secret[fieldData] = data
	return nil
}

func texts(list []string) []any {
	all := make([]any, len(list))
	for i, s := range list {
		all[i] = s
	}
	return all
}

// making evaluates the texts of one template.
type making struct {
	ctx    context.Context //nolint:containedctx // of one call
	r      *Resource
	values map[string]any
}

func (m *making) of(path []string, value any) (any, bool, error) {
	switch v := value.(type) {
	case string:
		t := m.r.texts[v]
		if t == nil {
			return v, true, nil
		}
		p, allowed := find(m.r.places, path)
		if !allowed {
			return v, true, nil // a program may contain the same text
		}
		out, some, err := t.value(m.ctx, m.values, p.text)
		if err != nil {
			return nil, false, fmt.Errorf("resource %s, %s: %w", m.r.ID, joined(path), err)
		}
		return out, some, nil
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			element, some, err := m.of(append(slices.Clone(path), name), v[name])
			if err != nil {
				return nil, false, err
			}
			if some {
				out[name] = element
			}
		}
		return out, true, nil
	case []any:
		out := make([]any, 0, len(v))
		for i, element := range v {
			made, some, err := m.of(append(slices.Clone(path), fmt.Sprint(i)), element)
			if err != nil {
				return nil, false, err
			}
			if some {
				out = append(out, made)
			}
		}
		return out, true, nil
	}
	return runtime.DeepCopyJSONValue(value), true, nil
}

// Outputs are the outputs of an instance that are known: those whose resources are all seen. Problems
// says why others are not, by name.
func (c *Composition) Outputs(ctx context.Context, i *Instance, seen map[string]Seen) (outputs map[string]any, problems []string) {
	values := i.values(seen)
	outputs = map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(c.outputs)) {
		t := c.outputs[name]
		if !t.known(seen) {
			continue
		}
		value, some, err := t.value(ctx, values, false)
		switch {
		case err != nil:
			problems = append(problems, fmt.Sprintf("output %s: %v", name, err))
		case some:
			outputs[name] = value
		}
	}
	return outputs, problems
}

// OutputNames are the names of all outputs, sorted.
func (c *Composition) OutputNames() []string { return slices.Sorted(maps.Keys(c.outputs)) }

// known reports whether all resources that a text reads are seen.
func (t *text) known(seen map[string]Seen) bool {
	for _, p := range t.parts {
		if p.code == nil {
			continue
		}
		for _, access := range p.code.Reads(varResources) {
			id, _ := access[0].(string) // checked by parsing
			if _, ok := seen[id]; !ok {
				return false
			}
		}
	}
	return true
}
