// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"cmp"
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// Object is a rendered object of a tenant.
type Object struct {
	// ID is its id, Where its place in the template, as in deployments[app].
	ID, Where string
	// Resource has its policies. It is part of the Tenant: do not modify it.
	Resource *tenantv1.TResource
	Object   *unstructured.Unstructured
}

// Objects renders the objects of a Tenant, in the order of its lists, and returns an error for each
// object that cannot be rendered. After an error without an id, which is about the Tenant, there
// are no objects.
func Objects(tenant *tenantv1.Tenant) ([]Object, []Error) {
	r, err := RowOf(tenant)
	if err != nil {
		return nil, []Error{{Where: "metadata.annotations", Reason: err.Error()}}
	}
	m := &objects{tenant: tenant, uid: r.SafeUID, data: values(r, tenant.Registry(), tenant.Spec.TemplateRef),
		ids: map[string]string{}, taken: map[Identity]string{}}
	m.dialect = dialect(m.allocated)
	for _, list := range tenant.Spec.Lists() {
		for i := range list.Items {
			m.add(list, &list.Items[i])
		}
	}
	return m.made, m.errs
}

// objects renders the objects of one Tenant.
type objects struct {
	tenant  *tenantv1.Tenant
	uid     string
	dialect template.Dialect
	data    map[string]any
	// ids are the places of ids, and taken the ids of objects.
	ids   map[string]string
	taken map[Identity]string
	made  []Object
	errs  []Error
}

// Identity identifies an object of an API, whatever version it is written in.
type Identity = graph.Identity

// Nodes are objects for their graph.
func Nodes(objects []Object) []graph.Node {
	nodes := make([]graph.Node, len(objects))
	for i, o := range objects {
		nodes[i] = graph.Node{ID: o.ID, Object: o.Object, Declared: o.Resource.DependIds, Gated: o.Resource.WaitsForReady()}
	}
	return nodes
}

func (m *objects) allocated(pool string, _, _ int64) (int64, error) {
	number, ok := m.tenant.Spec.Allocations[pool]
	if !ok {
		return 0, fmt.Errorf("the tenant has no number from the pool %q yet; the next sync of its registry allocates it", pool)
	}
	return number, nil
}

func (m *objects) add(list tenantv1.List, res *tenantv1.TResource) {
	where := place(list.Field, res.ID)
	if first, twice := m.ids[res.ID]; twice {
		m.errs = append(m.errs, Error{ID: res.ID, Where: where, Reason: "the id is also that of " + first + "; ids must be unique in a template"})
		return
	}
	m.ids[res.ID] = where
	u, failure := m.object(list, res, where)
	if failure == nil {
		failure = m.take(u, res.ID, where)
	}
	if failure != nil {
		failure.ID = res.ID
		m.errs = append(m.errs, *failure)
		return
	}
	m.made = append(m.made, Object{ID: res.ID, Where: where, Resource: res, Object: u})
}

// take refuses a second resource for the same object.
func (m *objects) take(u *unstructured.Unstructured, id, where string) *Error {
	self := graph.IdentityOf(u)
	if other, taken := m.taken[self]; taken {
		return &Error{Where: where, Data: true, Reason: fmt.Sprintf("it is the same object as the one with the id %s: %s", other, self)}
	}
	m.taken[self] = id
	return nil
}

func (m *objects) object(list tenantv1.List, res *tenantv1.TResource, where string) (*unstructured.Unstructured, *Error) {
	if len(res.Spec.Object) == 0 && list.Kind == "" { // a Namespace needs only its name
		return nil, &Error{Where: where + ".spec", Reason: "it has no manifest"}
	}
	value, err := manifest(m.dialect, m.data, list, res)
	if err != nil {
		failure := failed(res.ID, where, err)
		return nil, &failure
	}
	u := &unstructured.Unstructured{Object: value.(map[string]any)}
	if failure := identify(u, list, res, where); failure != nil {
		return nil, failure
	}
	if failure := m.settle(u, res, where); failure != nil {
		return nil, failure
	}
	for _, field := range []struct {
		name string
		more map[string]string
	}{{"labels", res.LabelsTemplate}, {"annotations", res.AnnotationsTemplate}} {
		if failure := join(u, field.name, field.more, where); failure != nil {
			return nil, failure
		}
	}
	labels := u.GetLabels()
	if labels == nil {
		labels = map[string]string{}
	}
	labels[tenantv1.LabelUID] = m.uid
	u.SetLabels(labels)
	if failure := complete(u, res, where); failure != nil {
		return nil, failure
	}
	return u, nil
}

// identify sets the kind and name of an object.
func identify(u *unstructured.Unstructured, list tenantv1.List, res *tenantv1.TResource, where string) *Error {
	u.SetAPIVersion(cmp.Or(u.GetAPIVersion(), list.APIVersion))
	u.SetKind(cmp.Or(u.GetKind(), list.Kind))
	switch _, err := schema.ParseGroupVersion(u.GetAPIVersion()); {
	case u.GetAPIVersion() == "" || u.GetKind() == "":
		return &Error{Where: where + ".spec", Reason: list.Field + " take any kind: the manifest needs apiVersion and kind"}
	case err != nil:
		return &Error{Where: where + ".spec.apiVersion", Reason: fmt.Sprintf("%q is not a version of an API, such as v1 or apps/v1", u.GetAPIVersion())}
	}
	if metadata, ok := u.Object["metadata"]; metadata == nil && ok {
		delete(u.Object, "metadata") // it is null
	} else if _, object := metadata.(map[string]any); ok && !object {
		return &Error{Where: where + ".spec.metadata", Reason: "it is not an object"}
	}
	if res.NameTemplate != "" {
		u.SetName(res.NameTemplate)
	}
	switch name := u.GetName(); {
	case name == "":
		return &Error{Where: where, Reason: "the object has no name; write nameTemplate, or spec.metadata.name"}
	case len(name) > validation.DNS1123SubdomainMaxLength:
		return &Error{Where: where, Data: true, Reason: fmt.Sprintf("the object's name has %d characters; the limit is %d", len(name), validation.DNS1123SubdomainMaxLength)}
	case len(content.IsPathSegmentName(name)) > 0:
		return &Error{Where: where, Data: true, Reason: fmt.Sprintf("%q is not a valid name: it is \".\" or \"..\", or contains \"/\" or \"%%\"", name)}
	}
	return nil
}

// settle sets the namespace of an object.
func (m *objects) settle(u *unstructured.Unstructured, res *tenantv1.TResource, where string) *Error {
	if u.GroupVersionKind().GroupKind() == corev1.SchemeGroupVersion.WithKind("Namespace").GroupKind() {
		u.SetNamespace("")
		return nil
	}
	namespace := cmp.Or(res.TargetNamespace, m.tenant.Namespace)
	if own := u.GetNamespace(); own != "" && own != namespace {
		return &Error{Where: where + ".spec.metadata.namespace", Data: true, Reason: fmt.Sprintf("it is %q, but the object's namespace is %q; for another namespace than the tenant's, set targetNamespace", own, namespace)}
	}
	if problems := validation.IsDNS1123Label(namespace); len(problems) > 0 && namespace != "" {
		return &Error{Where: where + ".targetNamespace", Data: true, Reason: fmt.Sprintf("%q is not a valid namespace: use lower case letters, digits and \"-\", at most 63", namespace)}
	}
	u.SetNamespace(namespace)
	return nil
}

// join adds labels or annotations to those of the manifest. Values must be text: YAML reads
// unquoted ones as numbers.
func join(u *unstructured.Unstructured, field string, more map[string]string, where string) *Error {
	metadata, _ := u.Object["metadata"].(map[string]any)
	own, there := metadata[field]
	all := map[string]string{}
	if named, ok := own.(map[string]any); ok {
		for _, name := range sorted(named) {
			text, ok := named[name].(string)
			if !ok {
				return &Error{Where: where + ".spec.metadata." + field + "." + name, Reason: "it is not a text; put it in quotes"}
			}
			all[name] = text
		}
	} else if there && own != nil {
		return &Error{Where: where + ".spec.metadata." + field, Reason: "it is not an object of texts"}
	}
	maps.Copy(all, more)
	if len(all) == 0 {
		unstructured.RemoveNestedField(u.Object, "metadata", field)
		return nil
	}
	if field == "labels" {
		u.SetLabels(all)
	} else {
		u.SetAnnotations(all)
	}
	return nil
}
