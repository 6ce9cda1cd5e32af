// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tenants

import (
	_ "embed"
	"fmt"

	"github.com/fluxcd/pkg/apis/meta"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/verbs"
	"github.com/yuba-dev/yuba/internal/web/access"
	"github.com/yuba-dev/yuba/internal/web/acts"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/tenants"

// Add adds the section's pages and actions.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	p := pages{objects}
	s.Page("/tenants", p.list)
	s.Page("/tenants/{namespace}/{name}", p.one)
	s.Page("/tenants/{namespace}/{name}/render", p.render)
	s.Page("/tenants/templates/{namespace}/{name}/render", p.tryRow)
	s.Action("/tenants/registries/{namespace}/{name}/confirm", p.confirm)
	s.Action("/tenants/registries/{namespace}/{name}/sync", p.sync)
}

type pages struct{ objects *watched.Objects }

// overview is the data of the templates of the list.
type overview struct {
	Registries []registry
	// Alone are templates whose registry is not there.
	Alone   []template
	Query   string
	Rows    []row
	Pager   pieces.Pager
	Total   int
	Missing []string
}

func (p pages) list(r *site.Request) (*site.Page, error) {
	registries, err := watched.List(r, p.objects, watched.Registries)
	if err != nil {
		return nil, err
	}
	templates, err := watched.List(r, p.objects, watched.Templates)
	if err != nil {
		return nil, err
	}
	all, err := watched.List(r, p.objects, watched.Tenants)
	if err != nil {
		return nil, err
	}
	d := overview{Query: r.URL.Query().Get("q"), Total: len(all.Items)}
	for _, why := range []string{registries.Missing, templates.Missing, all.Missing} {
		if why != "" {
			d.Missing = append(d.Missing, why)
		}
	}
	known := map[string]bool{}
	for _, o := range registries.Items {
		v := registryOf(o, templates.Items)
		v.Sync = r.Allow(site.Button{Label: "Sync", Address: registryPath(o, "sync")}, changes(o))
		if standing.HeldDeletion(o) != nil {
			v.Held.Confirm = r.Allow(confirmButton(o), changes(o))
		}
		known[o.Namespace+"/"+o.Name] = true
		d.Registries = append(d.Registries, v)
	}
	for _, t := range templates.Items {
		if !known[t.Namespace+"/"+t.Spec.RegistryID] {
			d.Alone = append(d.Alone, templateOf(t))
		}
	}
	d.Rows, d.Pager = pieces.Cut(rowsOf(all.Items, d.Query), r.URL)
	return &site.Page{Title: "Tenants", Section: Section, Wide: true, Commands: []string{"yuba tenant list -A", "yuba get tenantregistries -A", "yuba get tenanttemplates -A"},
		Parts:  []site.Part{{ID: "registries", View: "tenants-registries", Data: d}, {ID: "tenants", View: "tenants-rows", Data: d}},
		Topics: p.objects.Topics(r.Context(), watched.Registries, watched.Templates, watched.Tenants)}, nil
}

func registryPath(o *tenantv1.TenantRegistry, verb string) string {
	return site.Path("tenants", "registries", o.Namespace, o.Name, verb)
}

// changes is the right to change a registry.
func changes(o *tenantv1.TenantRegistry) access.Right {
	return access.Right{Verb: "patch", Group: tenantv1.GroupVersion.Group, Resource: watched.Registries.Resource, Namespace: o.Namespace, Name: o.Name}
}

func confirmButton(o *tenantv1.TenantRegistry) site.Button {
	h := o.Status.Held
	return site.Button{Label: fmt.Sprintf("Delete %d tenants", h.Count), Address: registryPath(o, "confirm"), Danger: true, Values: []site.Value{{Name: "id", Value: h.ID}},
		Confirm: fmt.Sprintf("%d tenants of %s/%s will be deleted, and their objects with them, unless their deletionPolicy is Retain. There is no undo.",
			h.Count, o.Namespace, o.Name)}
}

// confirm confirms the deletion that the person saw, and no later one.
func (p pages) confirm(r *site.Request) (site.Done, error) {
	key := keyOf(r)
	says, err := acts.Steadily(key.String(), func() (string, error) {
		o, err := p.registry(r)
		if err != nil {
			return "", err
		}
		held := standing.HeldDeletion(o)
		switch {
		case held == nil:
			return "", site.Conflict(fmt.Sprintf("Nothing was confirmed: %s holds no deletion, or somebody confirmed it already.", key), "")
		case held.ID != r.PostFormValue("id"):
			return "", site.Conflict(fmt.Sprintf("Nothing was confirmed: the held deletion of %s is another one now, of %d tenants.", key, held.Count), "Look at it again.")
		}
		c := verbs.Change{}.Annotate(map[string]any{tenantv1.AnnotationConfirmDeletion: held.ID}).If(o.ResourceVersion)
		return fmt.Sprintf("The deletion of %d tenants of %s is confirmed.", held.Count, key), acts.Patch(r, o, c)
	})
	return site.Done{Says: says}, err
}

func (p pages) sync(r *site.Request) (site.Done, error) {
	o, err := p.registry(r)
	if err != nil {
		return site.Done{}, err
	}
	c := verbs.Change{}.Annotate(map[string]any{meta.ReconcileRequestAnnotation: verbs.NewRequest(r.Now)})
	return site.Done{Says: fmt.Sprintf("A sync of the rows of %s is requested.", keyOf(r))}, acts.Patch(r, o, c)
}

func (p pages) registry(r *site.Request) (*tenantv1.TenantRegistry, error) {
	var o tenantv1.TenantRegistry
	err := r.As.Objects.Get(r.Context(), keyOf(r), &o)
	return &o, err
}

func keyOf(r *site.Request) types.NamespacedName {
	return types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
}

// detail is the data of the templates of one tenant.
type detail struct {
	row
	Resources []resource
	Pager     pieces.Pager
	Columns   []string
	Render    string
	Graph     string
}

func (p pages) one(r *site.Request) (*site.Page, error) {
	t, err := p.tenant(r)
	if err != nil {
		return nil, err
	}
	d := detail{row: rowOf(t), Columns: columnsOf(t), Render: site.Path("tenants", t.Namespace, t.Name, "render"),
		Graph: "/graph?focus=" + tenantv1.TenantKind + ":" + t.Namespace + "/" + t.Name}
	d.Resources, d.Pager = pieces.Cut(resourcesOf(t), r.URL)
	return &site.Page{Title: "Tenant " + t.Namespace + "/" + t.Name, Section: Section, Trail: []site.Link{{Text: "Tenants", Address: Section}},
		Commands: []string{"yuba tree tenant " + t.Namespace + "/" + t.Name, "yuba kubectl describe tenant -n " + t.Namespace + " " + t.Name},
		Parts:    []site.Part{{ID: "tenant", View: "tenants-one", Data: d}, {ID: "resources", View: "tenants-resources", Data: d}},
		Topics:   []live.Topic{{Kind: &tenantv1.Tenant{}, Namespace: t.Namespace, Name: t.Name}}}, nil
}

// tenant reads the tenant of the address as the person.
func (p pages) tenant(r *site.Request) (*tenantv1.Tenant, error) {
	var t tenantv1.Tenant
	err := r.As.Objects.Get(r.Context(), keyOf(r), &t)
	if apierrors.IsNotFound(err) {
		return nil, site.NotFound("There is no tenant "+keyOf(r).String()+".", "Its row is gone or inactive, or its template is. The registry's events say when: yuba events -n "+r.PathValue("namespace"))
	}
	return &t, err
}

// render shows what the template makes of the tenant's row now.
func (p pages) render(r *site.Request) (*site.Page, error) {
	t, err := p.tenant(r)
	if err != nil {
		return nil, err
	}
	var template tenantv1.TenantTemplate
	if err := r.As.Objects.Get(r.Context(), types.NamespacedName{Namespace: t.Namespace, Name: t.Spec.TemplateRef}, &template); err != nil {
		return nil, err
	}
	return &site.Page{Title: "What " + template.Name + " makes of " + t.Name, Section: Section,
		Trail:    []site.Link{{Text: "Tenants", Address: Section}, {Text: t.Name, Address: site.Path("tenants", t.Namespace, t.Name)}},
		Commands: []string{"yuba tenant render " + template.Name + " -n " + t.Namespace + " --tenant " + t.Labels[tenantv1.LabelUID]},
		Parts:    []site.Part{{ID: "rendered", View: "tenants-rendered", Data: renderedOf(&template, t)}}}, nil
}
