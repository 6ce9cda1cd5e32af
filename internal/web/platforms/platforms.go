// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package platforms

import (
	_ "embed"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

// Section is the address of the list.
const Section = "/platforms"

// Add adds the pages.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	p := pages{objects}
	s.Page(Section, p.list)
	s.Page(Section+"/{namespace}/{name}", p.one)
}

type pages struct{ objects *watched.Objects }

// row is a platform in the list.
type row struct {
	Namespace, Name, FQDN, Address string
	State                          standing.State
	Word, Says                     string
	Ready, Total                   int
	Since                          metav1.Time
}

type table struct {
	Rows    []row
	Pager   pieces.Pager
	Missing string
}

func (p pages) list(r *site.Request) (*site.Page, error) {
	found, err := watched.List(r, p.objects, watched.Platforms)
	if err != nil {
		return nil, err
	}
	t := table{Missing: found.Missing}
	var rows []row
	for _, one := range found.Items {
		rows = append(rows, rowOf(one))
	}
	t.Rows, t.Pager = pieces.Cut(rows, r.URL)
	return &site.Page{Title: "Platforms", Section: Section, Commands: []string{"yuba kubectl get platforms -A"},
		Parts: []site.Part{{ID: "platforms", View: "platforms", Data: t}}, Topics: p.objects.Topics(r.Context(), watched.Platforms)}, nil
}

func rowOf(p *yubav1.Platform) row {
	ready := conditions.Of(p, infrav1.ConditionReady)
	v := row{Namespace: p.Namespace, Name: p.Name, FQDN: p.Spec.Domain.FQDN, Address: site.Path("platforms", p.Namespace, p.Name),
		Says: ready.Message, Total: len(p.Status.Phases), Since: ready.LastTransitionTime}
	v.State, v.Word = stateOf(p)
	if v.Says == "" {
		v.Says = "Not reconciled yet."
	}
	for i := range p.Status.Phases {
		if p.Status.Phases[i].State == yubav1.PhaseReady {
			v.Ready++
		}
	}
	return v
}

func (p pages) one(r *site.Request) (*site.Page, error) {
	key := types.NamespacedName{Namespace: r.PathValue("namespace"), Name: r.PathValue("name")}
	var platform yubav1.Platform
	err := r.As.Objects.Get(r.Context(), key, &platform)
	if apierrors.IsNotFound(err) {
		return nil, site.NotFound("There is no platform "+key.String()+".", "It was deleted, or never made. Make one: yuba bootstrap")
	}
	if err != nil {
		return nil, err
	}
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return nil, err
	}
	there := map[string]bool{}
	for _, t := range stacks.Items {
		there[t.Namespace+"/"+t.Name] = true
	}
	d := detailOf(&platform, func(stack string) bool { return there[key.Namespace+"/"+stack] })
	page := &site.Page{Title: "Platform " + key.String(), Section: Section, Trail: []site.Link{{Text: "Platforms", Address: Section}},
		Commands: []string{"yuba bootstrap status " + key.Name + " -n " + key.Namespace, "yuba bootstrap logs " + key.Name + " -n " + key.Namespace + " -f"},
		Parts:    []site.Part{{ID: "platform", View: "platforms-one", Data: d}, {ID: "phases", View: "platforms-phases", Data: d}, {ID: "records", View: "platforms-records", Data: d}, {ID: "remaining", View: "platforms-remaining", Data: d}},
	}
	page.Topics = append(p.objects.Topics(r.Context(), watched.Stacks), live.Topic{Kind: &yubav1.Platform{}, Namespace: key.Namespace, Name: key.Name})
	return page, nil
}
