// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package versions

import (
	_ "embed"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
	"github.com/yuba-dev/yuba/internal/registry/usage"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

const (
	// Page is the address of the page. Section is the section that it belongs to.
	Page    = "/versions"
	section = "/registry"
	// fresh is how long a person's answer about uses is used again: with 3000 stacks it is large.
	fresh = 30 * time.Second
	// maxPeople limits the answers that are kept, and maxNamespaces the namespaces that are asked one
	// by one.
	maxPeople, maxNamespaces = 20, 20
)

// Add adds the page.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	p := &pages{objects: objects, answers: map[string]answer{}}
	s.Page(Page, p.show)
}

type pages struct {
	objects *watched.Objects
	mu      sync.Mutex
	answers map[string]answer
	images  tenantImages
}

type answer struct {
	users []usage.User
	why   string
	at    time.Time
}

// data is the data of the templates.
type data struct {
	Query, By, Of string
	Choices       []string
	Matrix        matrix
	Uses          []use
	Pager         pieces.Pager
	Why           string
	All           string
}

func (p *pages) show(r *site.Request) (*site.Page, error) {
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return nil, err
	}
	kustomizations, err := watched.List(r, p.objects, watched.Kustomizations)
	if err != nil {
		return nil, err
	}
	// Not every API serves Helm releases or tenants. Then there are none.
	releases, err := watched.List(r, p.objects, watched.Releases)
	if err != nil {
		return nil, err
	}
	tenants, err := watched.List(r, p.objects, watched.Tenants)
	if err != nil {
		return nil, err
	}
	known := p.users(r, stacks.Items)
	q := r.URL.Query()
	d := data{Query: q.Get("q"), Of: q.Get("of"), Why: known.why, All: pieces.With(r.URL, "of", "", "page", "")}
	var labels []map[string]string
	for _, t := range stacks.Items {
		labels = append(labels, t.Labels)
	}
	d.By = chosen(q.Get("by"), labels)
	d.Choices = append([]string{byNamespace}, usual...)
	uses := usesOf(known.users, stacks.Items, d.By)
	for _, k := range kustomizations.Items {
		uses = append(uses, kustomizationUses(k, d.By)...)
	}
	for _, h := range releases.Items {
		uses = append(uses, releaseUses(h, d.By)...)
	}
	for _, t := range tenants.Items {
		uses = append(uses, p.images.uses(t, d.By)...)
	}
	uses = slices.DeleteFunc(uses, func(u use) bool { return !u.matches(d.Query) || d.Of != "" && u.Source != d.Of })
	if d.Of != "" {
		slices.SortStableFunc(uses, func(a, b use) int { return rank(a.Environment) - rank(b.Environment) })
		d.Uses, d.Pager = pieces.Cut(uses, r.URL)
	} else {
		d.Matrix = matrixOf(uses, func(source string) string { return Page + "?" + url.Values{"of": {source}, "by": {d.By}}.Encode() })
		d.Matrix.Rows, d.Pager = pieces.Cut(d.Matrix.Rows, r.URL)
	}
	return &site.Page{Title: "Versions by environment", Section: section, Wide: true, Commands: []string{"yuba registry users '*'", "yuba registry outdated"},
		Parts: []site.Part{pieces.Catalogue(Page), {ID: "versions", View: "versions", Data: d}}, Topics: p.objects.Topics(r.Context(), watched.Stacks, watched.Kustomizations, watched.Releases, watched.Tenants)}, nil
}

// chosen is the label that names environments.
func chosen(asked string, labels []map[string]string) string {
	if asked != "" {
		return asked
	}
	for _, key := range usual {
		if slices.ContainsFunc(labels, func(l map[string]string) bool { return l[key] != "" }) {
			return key
		}
	}
	return byNamespace
}

func environment(o metav1.Object, by string) string {
	value := o.GetLabels()[by]
	if by == byNamespace {
		value = o.GetNamespace()
	}
	if value == "" {
		return unlabelled
	}
	return value
}

func sourceName(kind, namespace, own, name string) string {
	if namespace == "" {
		namespace = own
	}
	return kind + " " + namespace + "/" + name
}

// usesOf are the uses of stacks that the person sees.
func usesOf(users []usage.User, stacks []*infrav1.Terraform, by string) []use {
	var uses []use
	at := map[string]*infrav1.Terraform{}
	for _, t := range stacks {
		at[t.Namespace+"/"+t.Name] = t
		if ref := t.Spec.SourceRef; ref != nil && t.Status.LastAppliedRevision != "" {
			uses = append(uses, use{Kind: kindSource, Source: sourceName(ref.Kind, ref.Namespace, t.Namespace, ref.Name), Version: shorten.Revision(t.Status.LastAppliedRevision),
				Environment: environment(t, by), Where: t.Namespace + "/" + t.Name, Address: site.Path("stacks", t.Namespace, t.Name)})
		}
		uses = append(uses, stackImages(t, by)...)
	}
	for i := range users {
		u := &users[i]
		t := at[u.Namespace+"/"+u.Stack]
		if t == nil {
			continue
		}
		one := use{Kind: string(u.Kind), Source: u.Source, Version: usage.ShownVersion(u.Use), Environment: environment(t, by), Where: u.Namespace + "/" + u.Stack,
			Address: site.Path("stacks", u.Namespace, u.Stack), Says: strings.TrimSpace(string(u.Standing) + " " + u.Constraint), Since: u.Since}
		if one.Version == "" {
			one.Version = unlabelled
		}
		if u.Notice != nil {
			one.Notice = u.Notice.Kind + ": " + u.Notice.Reason
		}
		uses = append(uses, one)
	}
	return uses
}

// users asks who uses what, as the person: of all namespaces, or of those that they see.
func (p *pages) users(r *site.Request, stacks []*infrav1.Terraform) answer {
	key := r.Person.Key()
	p.mu.Lock()
	known, found := p.answers[key]
	p.mu.Unlock()
	if found && r.Now.Sub(known.at) < fresh {
		return known
	}
	a := answer{at: r.Now}
	list, err := r.As.Content.Users(r.Context(), "*", "")
	a.users = list.Items
	if apierrors.IsForbidden(err) {
		var namespaces []string
		for _, t := range stacks {
			namespaces = append(namespaces, t.Namespace)
		}
		namespaces = slices.Compact(namespaces) // they are sorted
		for _, namespace := range namespaces[:min(maxNamespaces, len(namespaces))] {
			some, failed := r.As.Content.Users(r.Context(), "*", namespace)
			if err = failed; err != nil {
				break
			}
			a.users = append(a.users, some.Items...)
		}
	}
	if a.why = pieces.Why(err); a.why == "" && list.Incomplete {
		a.why = "The server has just started and still reads what it stored: some uses are missing."
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.answers) >= maxPeople {
		clear(p.answers)
	}
	p.answers[key] = a
	return a
}
