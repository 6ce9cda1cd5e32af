// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package composition

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/finding"
	"github.com/yuba-dev/yuba/internal/kit/expression"
)

// Composition is a checked backend. Do not change it.
type Composition struct {
	// Resources are in an order in which each follows those that it needs.
	Resources []*Resource
	outputs   map[string]*text
}

// Resource is a resource of a composition.
type Resource struct {
	ID  string
	GVK schema.GroupVersionKind
	// Needs are the ids of the resources that must be ready first, in the order of the composition.
	Needs []string
	// before and after surround the instance's name in the object's name.
	before, after string
	template      map[string]any
	// texts are the compiled texts of the template.
	texts map[string]*text
	// include and ready are conditions.
	include, ready []*condition
	places         []place
	// outputs are those of a stack that expressions read, and all if they read the Secret.
	outputs []string
	all     bool
}

// condition is an expression with a truth.
type condition struct {
	code    *expression.Expression
	written string
}

// Schema tells which fields the spec of an instance has.
type Schema interface {
	// HasField reports whether the schema has the field of a path.
	HasField(path []string) bool
}

// Parse checks a backend against the schema of the kind. It returns nil if the findings contain errors.
func Parse(b *appv1.CompositionBackend, spec Schema) (*Composition, finding.List) {
	p := &parsing{spec: spec, byID: map[string]*Resource{}, c: &Composition{outputs: map[string]*text{}}}
	for i := range b.Resources {
		p.declare(&b.Resources[i], b.Prefix)
	}
	for i := range b.Resources {
		if r := p.byID[b.Resources[i].ID]; r != nil && r.template != nil {
			p.at = where(r.ID)
			p.resource(r, &b.Resources[i])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(b.Outputs)) {
		p.at = finding.Child("outputs", name)
		t, err := parseText(b.Outputs[name], varSpec, varMetadata, varResources)
		if err != nil {
			p.wrong("%v", err)
			continue
		}
		p.reads(nil, t)
		p.c.outputs[name] = t
	}
	if p.list.Err() == nil {
		p.at = "resources"
		p.order(b)
	}
	if p.list.Err() == nil {
		p.programs()
	}
	if p.list.Err() != nil {
		return nil, p.list
	}
	return p.c, p.list
}

// parsing reads one backend.
type parsing struct {
	spec Schema
	c    *Composition
	byID map[string]*Resource
	// needs are the ids that the expressions of a resource read.
	needs map[string][]string
	// at is the field that is being checked.
	at   string
	list finding.List
}

// joined is a path for people.
func joined(path []string) string { return strings.Join(path, ".") }

func where(id string) string { return "resources[" + id + "]" }

func (p *parsing) wrong(problem string, args ...any) {
	p.list.Add(finding.Error, p.at, "", problem, args...)
}

// declare reads the identity of a resource.
func (p *parsing) declare(in *appv1.ComposedResource, prefix string) {
	p.at = where(in.ID)
	if p.byID[in.ID] != nil {
		p.wrong("two resources have this id")
		return
	}
	r := &Resource{ID: in.ID, texts: map[string]*text{}}
	p.byID[in.ID] = r
	p.c.Resources = append(p.c.Resources, r)
	p.at += ".template"
	var template map[string]any
	if err := json.Unmarshal(in.Template.Raw, &template); err != nil || template == nil {
		p.wrong("it is not an object")
		return
	}
	apiVersion, _ := template["apiVersion"].(string)
	kind, _ := template["kind"].(string)
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil || apiVersion == "" || kind == "" {
		p.wrong("it needs apiVersion and kind, as plain texts")
		return
	}
	r.GVK = gv.WithKind(kind)
	var ok bool
	if r.places, ok = placesOf(r.GVK.GroupKind()); !ok {
		p.wrong("a composition cannot make the kind %s of %s; it makes Terraform, HelmRelease, Secret, ConfigMap and the kinds of %s", kind, apiVersion, AppsGroup)
		return
	}
	r.template = template
	p.name(r, prefix)
}

// name reads the name of the object: a text with ${metadata.name} once.
func (p *parsing) name(r *Resource, prefix string) {
	r.before, r.after = prefix, "-"+strings.ToLower(r.ID)
	metadata, ok := r.template["metadata"].(map[string]any)
	if !ok {
		return
	}
	written, has := metadata["name"]
	if !has {
		return
	}
	text, _ := written.(string)
	before, after, found := strings.Cut(text, textName)
	if !found || strings.ContainsAny(before+after, "${}") || !strings.HasPrefix(before, prefix) {
		p.at += ".metadata.name"
		p.wrong("it must be a text that begins with the prefix and contains ${metadata.name} once, such as %s${metadata.name}-%s", prefix, strings.ToLower(r.ID))
		return
	}
	r.before, r.after = before, after
}

// Name is the name of the object of an instance.
func (r *Resource) Name(instance string) string { return r.before + instance + r.after }

// Longest is how many characters the names of objects have besides the instance's name.
func (c *Composition) Longest() (n int) {
	for _, r := range c.Resources {
		n = max(n, len(r.before)+len(r.after))
	}
	return n
}

// Kinds are the application kinds that it makes, each once.
func (c *Composition) Kinds() (kinds []string) {
	for _, r := range c.Resources {
		if r.GVK.Group == AppsGroup && !slices.Contains(kinds, r.GVK.Kind) {
			kinds = append(kinds, r.GVK.Kind)
		}
	}
	return kinds
}

// Resource finds a resource; nil for none.
func (c *Composition) Resource(id string) *Resource {
	for _, r := range c.Resources {
		if r.ID == id {
			return r
		}
	}
	return nil
}

// IsStack reports whether the object is a stack.
func (r *Resource) IsStack() bool {
	return r.GVK.Group == stackGroup && r.GVK.Kind == stackKind
}

// IsInstance reports whether the object is an instance of an application kind.
func (r *Resource) IsInstance() bool { return r.GVK.Group == AppsGroup }

// OutputsSecret is the Secret with the outputs of a stack; empty if nothing reads it.
func (r *Resource) OutputsSecret(instance string) string {
	if !r.IsStack() {
		return ""
	}
	spec, _ := r.template["spec"].(map[string]any)
	if own, ok := spec[fieldOutputs].(map[string]any); ok {
		name, _ := own["name"].(string)
		return strings.ReplaceAll(name, textName, instance)
	}
	if len(r.outputs) == 0 && !r.all {
		return ""
	}
	return r.Name(instance) + "-outputs"
}

// fieldOutputs is the field of stacks that names the Secret.
const fieldOutputs = "writeOutputsToSecret"

func (p *parsing) resource(r *Resource, in *appv1.ComposedResource) {
	if p.needs == nil {
		p.needs = map[string][]string{}
	}
	p.at = where(r.ID) + ".template"
	p.shape(r)
	p.walk(r, nil, r.template)
	for i, written := range in.IncludeWhen {
		p.at = finding.Index(where(r.ID)+".includeWhen", i)
		if c := p.condition(written, varSpec, varMetadata); c != nil {
			p.fields(c.code)
			r.include = append(r.include, c)
		}
	}
	for i, written := range in.ReadyWhen {
		p.at = finding.Index(where(r.ID)+".readyWhen", i)
		if c := p.condition(written, varSelf); c != nil {
			r.ready = append(r.ready, c)
		}
	}
	p.at = where(r.ID) + ".dependsOn"
	for _, id := range in.DependsOn {
		if p.byID[id] == nil || id == r.ID {
			p.wrong("%q is not the id of another resource", id)
			continue
		}
		p.need(r, id)
	}
}

func (p *parsing) need(r *Resource, id string) {
	if r != nil && !slices.Contains(p.needs[r.ID], id) {
		p.needs[r.ID] = append(p.needs[r.ID], id)
	}
}

func (p *parsing) condition(written string, variables ...string) *condition {
	code, err := expression.NewValue(written, variables...)
	if err != nil {
		p.wrong("%v", err)
		return nil
	}
	return &condition{code, written}
}

// shape checks the fields of an object that are not data.
func (p *parsing) shape(r *Resource) {
	allowed := append([]string{"apiVersion", "kind", "metadata"}, fields[r.GVK.GroupKind()]...)
	if fields[r.GVK.GroupKind()] == nil {
		allowed = append(allowed, "spec")
	}
	for _, name := range slices.Sorted(maps.Keys(r.template)) {
		if !slices.Contains(allowed, name) {
			p.wrong("the field %s cannot be set", name)
		}
	}
	metadata, ok := r.template["metadata"].(map[string]any)
	if r.template["metadata"] != nil && !ok {
		p.wrong("metadata is not an object")
	}
	for _, name := range slices.Sorted(maps.Keys(metadata)) {
		if !slices.Contains([]string{"name", "labels", "annotations"}, name) {
			p.wrong("metadata.%s cannot be set: objects are in the instance's namespace, and belong to it", name)
		}
	}
	if r.IsStack() {
		p.stack(r)
	}
}

// walk compiles the texts of a template.
func (p *parsing) walk(r *Resource, path []string, value any) {
	switch v := value.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if strings.Contains(name, left) {
				p.wrong("%s: names of fields have no expressions", joined(path))
			}
			p.walk(r, append(slices.Clone(path), name), v[name])
		}
	case []any:
		for i, element := range v {
			p.walk(r, append(slices.Clone(path), fmt.Sprint(i)), element)
		}
	case string:
		p.text(r, path, v)
	}
}

func (p *parsing) text(r *Resource, path []string, written string) {
	// Names have rules of their own, and programs no expressions.
	named := []string{"metadata.name"}
	if r.IsStack() {
		named = append(named, "spec."+fieldOutputs+".name")
	}
	if !strings.Contains(written, left) || slices.Contains(named, joined(path)) || r.IsStack() && isProgram(path) {
		return
	}
	if _, allowed := find(r.places, path); !allowed {
		p.wrong("%s: expressions are not allowed here, so that users decide no more than data; they are in %s", joined(path), list(r.places))
		return
	}
	t, err := parseText(written, varSpec, varMetadata, varResources)
	if err != nil {
		p.wrong("%s: %v", joined(path), err)
		return
	}
	if isSourceName(path) && !p.ownSource(r, t, written, kindBeside(r.template, path)) {
		p.wrong("%s: an expression must not choose which Secret or ConfigMap is read. Write ${resources.ID.outputsSecret} of a stack, ${resources.ID.name} of a resource of that kind, or a fixed name", joined(path))
		return
	}
	r.texts[written] = t
	p.reads(r, t)
}
