// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/objects/graph"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/render"
	"github.com/yuba-dev/yuba/internal/tenants/row"
)

// Subject is a template with a row to check it with.
type Subject struct {
	Template *tenantv1.TenantTemplate
	// Row is a tenant's, or that of [Sample].
	Row row.Row
	// Invented is true if the row is made up.
	Invented bool
	// Private is true if readers of the findings must not see the row's values: they may read the
	// template, but not the table.
	Private bool
	// EnvPrefixes begin keys of varsFrom that become environment without a declared variable; nil
	// if unknown.
	EnvPrefixes []string
}

// Sample makes up a row, for registries without rows: every value is 1, which is a text, a number
// and true.
func Sample(registry *tenantv1.TenantRegistry) row.Row {
	const uid = "sample"
	r := row.Row{UID: uid, SafeUID: row.SafeUID(uid), Activate: sampleValue, Active: true, Extra: map[string]string{}}
	if registry == nil {
		return r
	}
	if registry.Spec.ValueMappings.HostOrURL != "" {
		r.HostOrURL, r.Host = sampleAddress, row.Host(sampleAddress)
	}
	for name := range registry.Spec.ExtraValueMappings {
		r.Extra[name] = sampleValue
	}
	return r
}

// Values of made-up rows.
const (
	sampleAddress = "https://sample.example.com"
	sampleValue   = "1"
)

// SampleOf makes up a row for a template. If the registry is unknown, the row has the variables
// that the template uses.
func SampleOf(t *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) row.Row {
	r := Sample(registry)
	if registry != nil {
		return r
	}
	r.HostOrURL = sampleAddress
	r.Host = row.Host(r.HostOrURL)
	known := map[string]bool{}
	for _, name := range render.Variables(r) {
		known[name] = true
	}
	for _, list := range t.Spec.Lists() {
		for i := range list.Items {
			for _, name := range render.Asked(list, &list.Items[i]) {
				if !known[name] {
					r.Extra[name] = sampleValue
				}
			}
		}
	}
	return r
}

// Template checks a template. An error means that the world did not answer; problems of the
// template are findings.
func Template(ctx context.Context, s Subject, w World) ([]Finding, error) {
	c := &checker{subject: s, places: map[string]place{}, unknown: map[string][]string{}}
	c.ids()
	c.asked()
	objects, whole := c.objects(s.Row, true)
	c.unasked()
	c.graph(objects, whole)
	c.identities(objects)
	c.homes(objects)
	c.stacks(objects)
	c.keys(objects)
	if err := c.world(ctx, objects, w); err != nil {
		return nil, err
	}
	return inOrder(c.findings), nil
}

// Tenant returns the tenant of a row and a template.
func Tenant(t *tenantv1.TenantTemplate, r row.Row, a render.Allocator) (*tenantv1.Tenant, error) {
	spec, err := render.Tenant(t, r, a)
	if err != nil {
		return nil, err
	}
	annotations := render.Annotations(r)
	annotations[tenantv1.AnnotationTemplateGeneration] = strconv.FormatInt(t.Generation, 10)
	tenant := &tenantv1.Tenant{
		TypeMeta: metav1.TypeMeta{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind},
		ObjectMeta: metav1.ObjectMeta{Namespace: t.Namespace, Name: row.TenantName(r.SafeUID, t.Name),
			Labels: map[string]string{tenantv1.LabelUID: r.SafeUID}, Annotations: annotations},
		Spec: *spec,
	}
	row.SetRegistry(tenant, t.Spec.RegistryID)
	return tenant, nil
}

// place is the place of an object in the template.
type place struct {
	field string
	order int
}

// checker gathers findings.
type checker struct {
	subject  Subject
	places   map[string]place
	findings []Finding
	// unknown are the variables that an object uses and no row has, by its id.
	unknown map[string][]string
	// outputs are the Secrets with outputs of the template's stacks.
	outputs map[secretName]*written
}

// find adds a finding about an object; about the whole template if id is empty.
func (c *checker) find(s Severity, id, format string, args ...any) *Finding {
	at := c.places[id]
	c.findings = append(c.findings, Finding{Severity: s, ID: id, Field: at.field, order: at.order, Message: shorten.Line(fmt.Sprintf(format, args...))})
	return &c.findings[len(c.findings)-1]
}

// failed reports whether a mistake of an object was found.
func (c *checker) failed(id string) bool {
	for _, f := range c.findings {
		if f.ID == id && f.Severity == Error {
			return true
		}
	}
	return false
}

// ids records the place of each object, and checks ignoreFields. Of two objects with one id the
// first counts; rendering reports the other.
func (c *checker) ids() {
	for _, list := range c.subject.Template.Spec.Lists() {
		for i := range list.Items {
			id := list.Items[i].ID
			if _, taken := c.places[id]; !taken {
				c.places[id] = place{fmt.Sprintf("%s[%s]", list.Field, id), len(c.places) + 1}
			}
			for _, path := range list.Items[i].IgnoreFields {
				if err := render.CheckIgnored(path); err != nil {
					c.find(Error, id, "%s", err)
				}
			}
		}
	}
}

// objects renders the template for a row. whole is false if something does not render, which is
// reported if tell is true.
func (c *checker) objects(r row.Row, tell bool) (objects []render.Object, whole bool) {
	// The allocated numbers do not matter.
	tenant, err := Tenant(c.subject.Template, r, allocate.New().For(r.UID, nil))
	var broken render.Errors
	if errors.As(err, &broken) { // check the other objects nevertheless
		tenant, err = Tenant(without(c.subject.Template, broken), r, allocate.New().For(r.UID, nil))
	}
	if err != nil && len(broken) == 0 {
		broken = render.Errors{{Reason: err.Error()}}
	}
	if err == nil {
		known := ids(broken)
		made, failed := render.Objects(tenant)
		objects = slices.DeleteFunc(made, func(o render.Object) bool { return known[o.ID] })
		broken = append(broken, slices.DeleteFunc(failed, func(e render.Error) bool { return known[e.ID] })...)
	}
	for _, e := range broken {
		if tell {
			where := strings.TrimPrefix(strings.TrimPrefix(e.Where, c.places[e.ID].field), ".")
			c.find(c.weight(e), e.ID, "%s", strings.TrimPrefix(where+": "+e.Reason, ": "))
		}
	}
	return objects, len(broken) == 0
}

// without returns the template with placeholders for broken objects.
func without(t *tenantv1.TenantTemplate, broken render.Errors) *tenantv1.TenantTemplate {
	rest, known := t.DeepCopy(), ids(broken)
	for _, list := range rest.Spec.Lists() {
		for i := range list.Items {
			if id := list.Items[i].ID; known[id] {
				list.Items[i] = tenantv1.TResource{ID: id, NameTemplate: "left-out"}
			}
		}
	}
	return rest
}

// ids returns the ids of broken objects.
func ids(broken render.Errors) map[string]bool {
	known := map[string]bool{}
	for _, e := range broken {
		known[e.ID] = true
	}
	return known
}

// weight returns the severity of a rendering error. A made-up row may cause it, unless the object
// uses a variable that no row has.
func (c *checker) weight(e render.Error) Severity {
	if !c.subject.Invented || !e.Data || len(c.unknown[e.ID]) > 0 {
		return Error
	}
	return Warning
}

// asked records the variables that no row has, by the ids of the objects that use them.
func (c *checker) asked() {
	known := render.Variables(c.subject.Row)
	for _, list := range c.subject.Template.Spec.Lists() {
		for i := range list.Items {
			res := &list.Items[i]
			c.unknown[res.ID] = slices.DeleteFunc(render.Asked(list, res), func(name string) bool { return slices.Contains(known, name) })
		}
	}
}

// unasked reports variables that no row has in objects that render nevertheless: they may be in a
// condition, or have a default.
func (c *checker) unasked() {
	for _, list := range c.subject.Template.Spec.Lists() {
		for i := range list.Items {
			if id := list.Items[i].ID; !c.failed(id) {
				for _, name := range c.unknown[id] {
					c.find(Warning, id, "the registry maps no column to .%s, so it never has a value; there are %s", name, strings.Join(render.Variables(c.subject.Row), ", "))
				}
			}
		}
	}
}

// graph checks dependencies.
func (c *checker) graph(objects []render.Object, whole bool) {
	g, err := graph.Of(render.Nodes(objects))
	if err != nil {
		c.find(Error, "", "%s", err)
		return
	}
	for _, o := range objects {
		for _, id := range g.Missing(o.ID) {
			if _, there := c.places[id]; there && !whole {
				continue // it exists, but does not render
			}
			c.find(Error, o.ID, "dependIds names %q, but the template has no object with that id", id)
		}
	}
	for _, e := range g.LeftOut() {
		c.find(Warning, e.From, "it refers to the object %q (%s), which waits for it: it is created without waiting", e.To, e.Because)
	}
}
