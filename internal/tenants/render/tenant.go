// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/tofu/template"
)

// Allocator allocates small integers.
type Allocator interface {
	// Allocate returns the tenant's number of a pool, or a free one from least to most; always the
	// same for a tenant and pool. Users see its errors.
	Allocate(pool string, least, most int64) (int64, error)
}

// Tenant returns the spec of the Tenant of a row: with names, namespaces, labels and annotations
// rendered, manifests as they are, and the numbers that they allocate. Without an allocator,
// templates cannot allocate. The error is an [Errors].
func Tenant(t *tenantv1.TenantTemplate, r row.Row, a Allocator) (*tenantv1.TenantSpec, error) {
	m := &making{data: values(r, t.Spec.RegistryID, t.Name), allocator: a}
	m.dialect = dialect(m.allocate)
	spec := &tenantv1.TenantSpec{UID: r.UID, TemplateRef: t.Name, Resources: *t.Spec.Resources.DeepCopy(), KubeConfig: t.Spec.KubeConfig.DeepCopy()}
	for _, list := range spec.Lists() {
		for i := range list.Items {
			m.resource(list, &list.Items[i])
		}
	}
	if len(m.errs) > 0 {
		return nil, m.errs
	}
	spec.Allocations = m.numbers
	return spec, nil
}

// making renders one spec.
type making struct {
	dialect   template.Dialect
	data      map[string]any
	allocator Allocator
	numbers   map[string]int64
	// refused is true if the allocator returned an error for the current resource.
	refused bool
	errs    Errors
}

func (m *making) allocate(pool string, least, most int64) (int64, error) {
	if m.allocator == nil {
		m.refused = true
		return 0, fmt.Errorf("numbers of the pool %q cannot be allocated here", pool)
	}
	number, err := m.allocator.Allocate(pool, least, most)
	if err != nil {
		m.refused = true
		return 0, err
	}
	if m.numbers == nil {
		m.numbers = map[string]int64{}
	}
	m.numbers[pool] = number
	return number, nil
}

// place names a resource in messages.
func place(field, id string) string { return field + "[" + id + "]" }

// resource renders the fields beside a manifest. It renders the manifest only for its allocations:
// other errors are reported with its object, and do not affect others.
func (m *making) resource(list tenantv1.List, res *tenantv1.TResource) {
	where := place(list.Field, res.ID)
	text := func(name string, in *string) {
		out, err := m.dialect.Text(where+"."+name, *in, m.data)
		if err != nil {
			m.errs = append(m.errs, failed(res.ID, where, err))
			return
		}
		*in = out
	}
	texts := func(name string, in map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(in)) {
			value := in[key]
			text(name+"."+key, &value)
			in[key] = value
		}
	}
	named := res.NameTemplate != ""
	text("nameTemplate", &res.NameTemplate)
	if named && res.NameTemplate == "" {
		m.errs = append(m.errs, Error{ID: res.ID, Where: where + ".nameTemplate", Data: true, Reason: "the name is empty for this row"})
	}
	text("targetNamespace", &res.TargetNamespace)
	texts("labelsTemplate", res.LabelsTemplate)
	texts("annotationsTemplate", res.AnnotationsTemplate)
	if !allocates(res.Spec.Object) {
		return
	}
	m.refused = false
	if _, err := manifest(m.dialect, m.data, list, res); err != nil && m.refused {
		m.errs = append(m.errs, failed(res.ID, where, err))
	}
}

// allocates reports whether a manifest may allocate numbers.
func allocates(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.Contains(v, "allocate")
	case []any:
		return slices.ContainsFunc(v, allocates)
	case map[string]any:
		for name, item := range v {
			if allocates(name) || allocates(item) {
				return true
			}
		}
	}
	return false
}
