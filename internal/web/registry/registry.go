// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	_ "embed"
	"html/template"
	"net/url"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/yuba-dev/yuba/internal/gateway/content"
	"github.com/yuba-dev/yuba/internal/registry/catalog"
	"github.com/yuba-dev/yuba/internal/registry/layout"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/web/markdown"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
)

//go:embed views.html
var views string

const (
	// Section is the address of this section.
	Section       = "/registry"
	providersPage = "/registry/providers"
)

// Add adds the section's pages.
func Add(s *site.Site) {
	s.AddViews(views)
	s.Page(Section, modules)
	s.Page(providersPage, providers)
	s.Page("/registry/modules/{namespace}/{name}/{system}", module)
}

// summary is a module in the list.
type summary struct {
	content.ModuleSummary
	Address, Notice string
}

type moduleList struct {
	Query string
	Host  string
	Rows  []summary
	Pager pieces.Pager
	Total int
	Why   string
}

func modules(r *site.Request) (*site.Page, error) {
	d := moduleList{Query: r.URL.Query().Get("q")}
	if info, err := r.As.Content.Registry(r.Context()); err == nil {
		d.Host = info.Host
	}
	list, err := r.As.Content.Modules(r.Context(), "")
	d.Why, d.Total = pieces.Why(err), len(list.Items)
	d.Rows, d.Pager = pieces.Cut(summariesOf(list.Items, d.Query), r.URL)
	return &site.Page{Title: "Registry", Section: Section, Commands: []string{"yuba registry list", "yuba registry push DIR NAMESPACE/NAME/SYSTEM@VERSION"},
		Parts: []site.Part{pieces.Catalogue(Section), {ID: "modules", View: "registry-modules", Data: d}}}, nil
}

// summariesOf are the modules that have all words of a query in their names.
func summariesOf(items []content.ModuleSummary, query string) []summary {
	var rows []summary
	for _, m := range items {
		if !hasWords(m.Module, query) {
			continue
		}
		row := summary{ModuleSummary: m, Notice: noticeOf(m.Latest.Notice)}
		if of, err := layout.ParseModule(m.Module); err == nil {
			row.Address = modulePath(of)
		}
		rows = append(rows, row)
	}
	slices.SortFunc(rows, func(a, b summary) int { return strings.Compare(a.Module, b.Module) })
	return rows
}

func hasWords(text, query string) bool {
	for word := range strings.FieldsSeq(strings.ToLower(query)) {
		if !strings.Contains(strings.ToLower(text), word) {
			return false
		}
	}
	return true
}

func noticeOf(n *catalog.Notice) string {
	if n == nil {
		return ""
	}
	return string(n.Kind) + ": " + n.Reason
}

func modulePath(m layout.Module) string {
	return site.Path("registry", "modules", m.Namespace, m.Name, m.System)
}

// versionPath is the page of a version, whose build metadata begins with a plus.
func versionPath(m layout.Module, version string) string {
	return modulePath(m) + "?" + url.Values{"version": {version}}.Encode()
}

// release is the data of the templates of one module.
type release struct {
	catalog.Release
	Source, Text string
	Readme       template.HTML
	Versions     []version
	Users        []user
	Pager        pieces.Pager
	Counted      int
	UsersWhy     string
}

type version struct {
	catalog.Release
	Address, Notice string
	Here            bool
	// Users counts the stacks that use it.
	Users int
}

type user struct {
	usage.User
	Shown, Address string
}

func module(r *site.Request) (*site.Page, error) {
	m := layout.Module{Namespace: r.PathValue("namespace"), Name: r.PathValue("name"), System: r.PathValue("system")}
	if _, err := layout.ParseModule(m.String()); err != nil {
		return nil, site.NotFound("There is no such module: "+err.Error()+".", "")
	}
	list, err := r.As.Content.ModuleReleases(r.Context(), m)
	if apierrors.IsNotFound(err) || err == nil && len(list.Items) == 0 {
		return nil, site.NotFound("The registry has no module "+m.String()+".", "Publish it: yuba registry push DIR "+m.String()+"@1.0.0")
	}
	if err != nil {
		return nil, err
	}
	wanted := r.URL.Query().Get("version")
	if wanted == "" {
		wanted = newest(list.Items)
	}
	var d release
	if d.Release, err = r.As.Content.ModuleRelease(r.Context(), layout.ModuleVersion{Module: m, Version: wanted}); err != nil {
		return nil, err
	}
	d.Text, d.Source = noticeOf(d.Notice), m.String()
	if info, err := r.As.Content.Registry(r.Context()); err == nil && info.Host != "" {
		d.Source = info.Host + "/" + d.Source
	}
	if d.Interface != nil {
		d.Readme = markdown.Render(d.Interface.Readme)
	}
	counts := d.addUsers(r, m)
	for _, one := range list.Items {
		d.Versions = append(d.Versions, version{one, versionPath(m, one.Version), noticeOf(one.Notice), one.Version == wanted, counts[one.Version]})
	}
	return &site.Page{Title: m.String() + " " + wanted, Section: Section, Trail: []site.Link{{Text: "Registry", Address: Section}},
		Commands: []string{"yuba registry show " + m.String(), "yuba registry users " + m.String()},
		Parts:    []site.Part{{ID: "module", View: "registry-module", Data: d}, {ID: "users", View: "registry-users", Data: d}, {ID: "interface", View: "registry-interface", Data: d}}}, nil
}

// newest is the first version that is neither revoked nor a pre-release, else the first.
func newest(releases []catalog.Release) string {
	for _, one := range releases {
		if (one.Notice == nil || one.Notice.Kind != catalog.Revoked) && !strings.Contains(one.Version, "-") {
			return one.Version
		}
	}
	return releases[0].Version
}

// addUsers asks which stacks use the module. Without the right to see all stacks, people see how many
// there are.
func (d *release) addUsers(r *site.Request, m layout.Module) map[string]int {
	list, err := r.As.Content.Users(r.Context(), m.String(), "")
	if apierrors.IsForbidden(err) {
		count, failed := r.As.Content.CountUsers(r.Context(), m.String())
		d.Counted, d.UsersWhy = count.Stacks, pieces.Why(failed)
		return count.Count.Versions
	}
	var rows []user
	for _, u := range list.Items {
		rows = append(rows, user{u, usage.ShownVersion(u.Use), site.Path("stacks", u.Namespace, u.Stack)})
	}
	d.Users, d.Pager = pieces.Cut(rows, r.URL)
	d.Counted, d.UsersWhy = list.Count.Stacks, pieces.Why(err)
	return list.Count.Versions
}

// providerList is the data of the template of providers.
type providerList struct {
	Own       []content.RegistryProvider
	OwnWhy    string
	Mirrored  []mirrored
	Pager     pieces.Pager
	MirrorWhy string
}

type mirrored struct{ Provider, Versions string }

func providers(r *site.Request) (*site.Page, error) {
	own, err := r.As.Content.RegistryProviders(r.Context(), "")
	d := providerList{Own: own.Items, OwnWhy: pieces.Why(err)}
	mirror, err := r.As.Content.Mirror(r.Context())
	d.MirrorWhy = pieces.Why(err)
	d.Mirrored, d.Pager = pieces.Cut(mirroredOf(mirror), r.URL)
	return &site.Page{Title: "Providers", Section: Section, Trail: []site.Link{{Text: "Registry", Address: Section}}, Commands: []string{"yuba registry provider list", "yuba registry mirror list"},
		Parts: []site.Part{pieces.Catalogue(providersPage), {ID: "providers", View: "registry-providers", Data: d}}}, nil
}

// mirroredOf are the mirrored providers with their versions.
func mirroredOf(list content.MirrorList) []mirrored {
	var rows []mirrored
	for _, e := range list.Items { // sorted by provider
		if last := len(rows) - 1; last >= 0 && rows[last].Provider == e.Provider {
			rows[last].Versions += ", " + e.Version
			continue
		}
		rows = append(rows, mirrored{e.Provider, e.Version})
	}
	return rows
}
