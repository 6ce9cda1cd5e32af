// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/tenants/allocate"
	"github.com/yuba-dev/yuba/internal/tenants/check"
	tenantrow "github.com/yuba-dev/yuba/internal/tenants/row"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

// columnPrefix begins the parameters that are columns of a made-up row.
const columnPrefix = "col."

// tryAddress is the page where a template is tried with a made-up row.
func tryAddress(namespace, name string) string {
	return site.Path("tenants", "templates", namespace, name, "render")
}

// trial is the data of the templates of the page.
type trial struct {
	Columns []column
	// Notes say what else is to know, such as that there is no registry.
	Notes []string
	rendered
}

// column is a column of the registry's table, with the variables of templates that it gives.
type column struct{ Name, Param, Value, Variables string }

// tryRow shows what a template makes of a made-up row, as "yuba tenant render" does. The row is in
// the address, so the page works without JavaScript, and changes nothing.
func (p pages) tryRow(r *site.Request) (*site.Page, error) {
	var template tenantv1.TenantTemplate
	err := r.As.Objects.Get(r.Context(), keyOf(r), &template)
	if apierrors.IsNotFound(err) {
		return nil, site.NotFound("There is no tenant template "+keyOf(r).String()+".", "It was deleted or renamed. The tenants' page lists those there are.")
	}
	if err != nil {
		return nil, err
	}
	var t trial
	registry, note, err := registryFor(r, &template)
	if err != nil {
		return nil, err
	}
	pools, more, err := p.pools(r, &template)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{note, more} {
		if text != "" {
			t.Notes = append(t.Notes, text)
		}
	}
	row, invented, err := t.read(r.URL.Query(), &template, registry)
	command := "yuba tenant render " + template.Name + " -n " + template.Namespace
	if err != nil {
		t.Mistakes = []string{err.Error()}
	} else {
		if t.rendered, err = tried(r, check.Subject{Template: &template, Row: row, Invented: invented}, pools); err != nil {
			return nil, err
		}
		command += t.flags(invented)
	}
	return &site.Page{Title: "Try " + template.Name + " with a row", Section: Section, Trail: []site.Link{{Text: "Tenants", Address: Section}},
		Commands: []string{command},
		Parts:    []site.Part{{ID: "row", View: "tenants-row", Data: t}, {ID: "rendered", View: "tenants-rendered", Data: t.rendered}},
		Topics:   []live.Topic{{Kind: &tenantv1.TenantTemplate{}, Namespace: template.Namespace, Name: template.Name}}}, nil
}

// registryFor reads a template's registry as the person. Without it, the page says so.
func registryFor(r *site.Request, template *tenantv1.TenantTemplate) (*tenantv1.TenantRegistry, string, error) {
	var registry tenantv1.TenantRegistry
	err := r.As.Objects.Get(r.Context(), types.NamespacedName{Namespace: template.Namespace, Name: template.Spec.RegistryID}, &registry)
	if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
		return nil, "The names of columns are unknown, so these are the variables of the template. " + pieces.Why(err), nil
	}
	if err != nil {
		return nil, "", err
	}
	return &registry, "", nil
}

// pools have the numbers of the registry's tenants, so that the row gets one that is free.
func (p pages) pools(r *site.Request, template *tenantv1.TenantTemplate) (*allocate.Pools, string, error) {
	pools := allocate.New()
	all, err := watched.List(r, p.objects, watched.Tenants)
	if err != nil {
		return nil, "", err
	}
	for _, t := range all.Items {
		if t.Namespace == template.Namespace && t.Registry() == template.Spec.RegistryID {
			pools.Keep(t.Spec.UID, t.Spec.Allocations)
		}
	}
	if all.Missing != "" {
		return pools, "Numbers that the template allocates may differ. " + all.Missing, nil
	}
	return pools, "", nil
}

// tried renders a template with a row. Mistakes of the template are part of the answer.
func tried(r *site.Request, s check.Subject, pools *allocate.Pools) (rendered, error) {
	findings, err := check.Template(r.Context(), s, nil)
	if err != nil {
		return rendered{}, err
	}
	var out rendered
	made, err := check.Tenant(s.Template, s.Row, pools.For(s.Row.UID, nil))
	if err == nil {
		out = manifestsOf(made)
	}
	out.Mistakes = nil // the findings have them, and where they are
	for _, f := range findings {
		text := f.String()
		if f.Severity != check.Error {
			text = "Warning: " + text
		}
		out.Mistakes = append(out.Mistakes, text)
	}
	if err != nil && len(out.Mistakes) == 0 {
		out.Mistakes = strings.Split(err.Error(), "\n")
	}
	return out, nil
}

// mappingsOf are the columns that a registry maps, as it does, or those that a template uses.
func mappingsOf(template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) (tenantv1.ValueMappings, map[string]string) {
	if registry != nil {
		return registry.Spec.ValueMappings, registry.Spec.ExtraValueMappings
	}
	extra := map[string]string{}
	for name := range check.SampleOf(template, nil).Extra {
		extra[name] = name
	}
	return tenantv1.ValueMappings{UID: "uid", HostOrURL: "hostOrUrl", Activate: "activate"}, extra
}

// read reads the row of a query. Without one, the row is made up.
func (t *trial) read(q url.Values, template *tenantv1.TenantTemplate, registry *tenantv1.TenantRegistry) (r tenantrow.Row, invented bool, err error) {
	mappings, extra := mappingsOf(template, registry)
	sample := check.SampleOf(template, registry)
	invented = !slices.ContainsFunc(slices.Collect(maps.Keys(q)), func(name string) bool { return strings.HasPrefix(name, columnPrefix) })
	values := map[string]*string{}
	for _, name := range tenantrow.Columns(mappings, extra) {
		c := column{Name: name, Param: columnPrefix + name, Value: q.Get(columnPrefix + name)}
		var variables []string
		given := func(variable, made string) {
			variables = append(variables, variable)
			if invented {
				c.Value = made
			}
		}
		for _, variable := range slices.Sorted(maps.Keys(extra)) {
			if extra[variable] == name {
				given(variable, sample.Extra[variable])
			}
		}
		for _, fixed := range []struct{ variable, column, made string }{{"uid", mappings.UID, sample.UID}, {"hostOrUrl", mappings.HostOrURL, sample.HostOrURL}, {"activate", mappings.Activate, sample.Activate}} {
			if fixed.column == name {
				given(fixed.variable, fixed.made)
			}
		}
		c.Variables = strings.Join(variables, ", ")
		if c.Value != "" { // an empty field is NULL
			values[name] = &c.Value
		} else {
			values[name] = nil
		}
		t.Columns = append(t.Columns, c)
	}
	r, err = tenantrow.Map(values, mappings, extra)
	switch {
	case errors.Is(err, tenantrow.ErrNoUID):
		err = fmt.Errorf("the column %q is empty: a tenant needs a uid", mappings.UID)
	case err == nil && !r.Active:
		t.Notes = append(t.Notes, fmt.Sprintf("This row is not active (%s is %q), and has no tenant.", mappings.Activate, r.Activate))
	}
	return r, invented, err
}

// flags are the row as flags of the command line.
func (t *trial) flags(invented bool) string {
	if invented {
		return ""
	}
	var b strings.Builder
	for _, c := range t.Columns {
		if c.Value != "" {
			b.WriteString(" --row " + shellWord(c.Name+"="+c.Value))
		}
	}
	return b.String()
}

// shellWord quotes a word for a shell if it needs to be. People copy it, so what it does not show is
// left out.
func shellWord(word string) string {
	word = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, word)
	if strings.IndexFunc(word, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-=./:@,", r)
	}) < 0 {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
