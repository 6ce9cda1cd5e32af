// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package definitions

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/namespaces"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/applications/schema"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/diff"
	"github.com/yuba-dev/yuba/internal/tenants/hide"
)

// preview is what a definition would change.
type preview struct {
	Definition string `json:"definition"`
	Kind       string `json:"kind"`
	Instances  int    `json:"instances"`
	// Refusals are why the server would not accept the definition; Warnings are its remarks.
	Refusals []string `json:"refusals"`
	Warnings []string `json:"warnings"`
	// Schema are the changes of the schema, Stranded the instances that do not fit it.
	Schema   []schema.Change   `json:"schema"`
	Stranded []schema.Stranded `json:"stranded"`
	// Groups are the changes of objects. Each group has the instances with exactly these changes.
	Groups    []group `json:"groups"`
	Unchanged int     `json:"unchanged"`
}

// group are instances with the same changes.
type group struct {
	// Object is the kind of the changed objects.
	Object    string       `json:"object"`
	Instances []string     `json:"instances"`
	Fields    []diff.Field `json:"fields,omitempty"`
	// Problem is why no object can be made.
	Problem string `json:"problem,omitempty"`
}

// previewOf compares two definitions for all instances; older is nil if there is none.
func previewOf(older, newer *definition.Definition, instances []*render.Instance) *preview {
	p := &preview{Definition: newer.Name, Kind: newer.Application.Kind, Instances: len(instances), Refusals: []string{}, Warnings: []string{},
		Schema: []schema.Change{}, Stranded: []schema.Stranded{}, Groups: []group{}}
	for _, w := range newer.Warnings {
		p.Warnings = append(p.Warnings, w.String())
	}
	if older == nil {
		return p
	}
	p.refuse(older, newer)
	if changes := schema.Compare(older.Schema, newer.Schema); changes != nil {
		p.Schema = changes
	}
	var all []schema.Instance
	for _, i := range instances {
		all = append(all, schema.Instance{Namespace: i.Namespace, Name: i.Name, Spec: i.Spec})
	}
	if stranded := newer.Schema.Strands(all); stranded != nil {
		p.Stranded = stranded
	}
	p.fold(older, newer, instances)
	return p
}

// refuse lists what cannot change.
func (p *preview) refuse(older, newer *definition.Definition) {
	a, b := older.Application, newer.Application
	if a.Kind != b.Kind || a.Plural != b.Plural {
		p.Refusals = append(p.Refusals, "kind and plural cannot change: the objects of the kind would be lost. Create another definition")
	}
	if p.Instances == 0 {
		return
	}
	if older.Backend != newer.Backend {
		p.Refusals = append(p.Refusals, fmt.Sprintf("the backend changes from %s to %s, and the kind has instances. Delete them first, or create another definition", older.Backend, newer.Backend))
	}
	if older.Prefix != newer.Prefix {
		p.Refusals = append(p.Refusals, fmt.Sprintf("the prefix changes from %q to %q, and the kind has instances: their objects would be made anew. Keep the prefix, or create another definition", older.Prefix, newer.Prefix))
	}
}

// fold compares the objects of all instances, and puts instances with the same changes together.
func (p *preview) fold(older, newer *definition.Definition, instances []*render.Instance) {
	at := map[string]int{}
	for _, i := range instances {
		g := compared(older, newer, i)
		if len(g.Fields) == 0 && g.Problem == "" {
			p.Unchanged++
			continue
		}
		text, err := json.Marshal(g)
		if err != nil {
			text = []byte(i.Namespace + "/" + i.Name) // a group of its own
		}
		n, known := at[string(text)]
		if !known {
			n = len(p.Groups)
			at[string(text)] = n
			p.Groups = append(p.Groups, g)
		}
		p.Groups[n].Instances = append(p.Groups[n].Instances, i.Namespace+"/"+i.Name)
	}
	slices.SortStableFunc(p.Groups, func(a, b group) int { return len(b.Instances) - len(a.Instances) })
}

// compared are the changes for one instance. Its own names are placeholders in them: otherwise the
// same change would differ from instance to instance.
func compared(older, newer *definition.Definition, of *render.Instance) group {
	i := *of
	i.Name, i.Namespace = "NAME", "NAMESPACE"
	after, err := object(newer, &i)
	if err != nil {
		return group{Problem: err.Error()}
	}
	g := group{Object: after.GetKind()}
	before, err := object(older, &i)
	if err != nil {
		before = &unstructured.Unstructured{Object: map[string]any{"apiVersion": after.GetAPIVersion(), "kind": after.GetKind()}}
	}
	g.Fields = diff.Fields(hide.Changes(before, after))
	return g
}

// object makes the object of an instance.
func object(d *definition.Definition, i *render.Instance) (*unstructured.Unstructured, error) {
	switch d.Backend {
	case appv1.BackendHelm:
		return render.HelmRelease(d, i)
	case appv1.BackendComposition:
		return render.Sketch(context.Background(), d, i)
	case appv1.BackendTenant:
		return asked(d, i), nil
	case appv1.BackendTerraform:
	}
	stack, err := render.Terraform(d, i)
	if err != nil {
		return nil, err
	}
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(stack)
	if err != nil {
		return nil, fmt.Errorf("write the stack: %w", err)
	}
	return &unstructured.Unstructured{Object: content}, nil
}

// asked is the namespace of a tenant, with what the instance asks for. What it inherits and is granted
// depends on its neighbours, and not on the definition.
func asked(d *definition.Definition, i *render.Instance) *unstructured.Unstructured {
	prefix, root := d.Tenant.Begin()
	tree := namespaces.Tree{Root: root, Prefix: prefix}
	u := &unstructured.Unstructured{Object: map[string]any{"spec": d.Schema.Default(i.Spec)}}
	u.SetGroupVersionKind(namespaces.NamespaceKind)
	u.SetName(tree.Child(i.Namespace, i.Name))
	u.SetLabels(d.Labels)
	return u
}

// changes reports whether applying the definition would change anything.
func (p *preview) changes() bool { return len(p.Groups)+len(p.Schema) > 0 }

// refused reports whether the server would refuse the definition.
func (p *preview) refused() bool { return len(p.Refusals)+len(p.Stranded) > 0 }
