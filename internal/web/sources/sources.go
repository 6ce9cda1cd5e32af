// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package sources

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/web/live"
	"github.com/yuba-dev/yuba/internal/web/pieces"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
	"github.com/yuba-dev/yuba/internal/web/watched"
)

//go:embed views.html
var views string

// Section is the address of this section.
const Section = "/sources"

// Add adds the section's pages and actions.
func Add(s *site.Site, objects *watched.Objects) {
	s.AddViews(views)
	p := pages{objects}
	const one = "/sources/{kind}/{namespace}/{name}"
	s.Page("/sources", p.list)
	s.Page(one, p.one)
	s.Action(one+"/sync", sync)
	s.Action(one+"/suspend", suspend(true))
	s.Action(one+"/resume", suspend(false))
	s.Action(one+"/confirm", confirm)
}

type pages struct{ objects *watched.Objects }

// entry is an object in the list, with what can be done with it.
type entry struct {
	object
	Buttons []site.Button
}

type table struct {
	Query   string
	Rows    []entry
	Pager   pieces.Pager
	Total   int
	Missing []string
}

func (p pages) list(r *site.Request) (*site.Page, error) {
	t := table{Query: r.URL.Query().Get("q")}
	var all []object
	for _, list := range []func() ([]object, string, error){
		listed(r, p.objects, watched.GitRepositories), listed(r, p.objects, watched.OCIRepositories), listed(r, p.objects, watched.Buckets),
		listed(r, p.objects, watched.ExternalArtifacts), listed(r, p.objects, watched.Kustomizations), listed(r, p.objects, watched.HelmRepositories),
		listed(r, p.objects, watched.HelmCharts), listed(r, p.objects, watched.Releases),
	} {
		some, missing, err := list()
		if err != nil {
			return nil, err
		}
		if all = append(all, some...); missing != "" {
			t.Missing = append(t.Missing, missing)
		}
	}
	t.Total = len(all)
	shown, pager := pieces.Cut(sorted(slices.DeleteFunc(all, func(v object) bool { return !v.matches(t.Query) })), r.URL)
	t.Pager = pager
	for _, v := range shown {
		t.Rows = append(t.Rows, entry{v, v.buttons(r)})
	}
	images, err := p.images(r, t.Query)
	if err != nil {
		return nil, err
	}
	return &site.Page{Title: "Sources and Kustomizations", Section: Section, Wide: true, Commands: []string{"yuba get sources -A", "yuba get kustomizations -A", "yuba get helmreleases -A"},
		Parts: []site.Part{{ID: "sources", View: "sources", Data: t}, {ID: "images", View: "sources-images", Data: images}},
		Topics: p.objects.Topics(r.Context(), watched.GitRepositories, watched.OCIRepositories, watched.Buckets, watched.ExternalArtifacts, watched.Kustomizations,
			watched.HelmRepositories, watched.HelmCharts, watched.Releases, watched.ImageRepositories, watched.ImagePolicies, watched.ImageUpdates)}, nil
}

// listed lists the objects of a kind that the person may see.
func listed[T any](r *site.Request, o *watched.Objects, k watched.Kind[T]) func() ([]object, string, error) {
	return func() (all []object, missing string, err error) {
		found, err := watched.List(r, o, k)
		for _, item := range found.Items {
			all = append(all, read(any(item).(client.Object)))
		}
		if found.Served {
			missing = found.Missing
		}
		return all, missing, err
	}
}

// detail is the data of the templates of one object.
type detail struct {
	entry
	Conditions []metav1.Condition
	Inventory  []string
	Versions   helmv2.Snapshots
	More       int
	Users      []user
	Graph      string
}

// user is a stack, a Kustomization or a HelmRelease that takes a source, or a stack that a Kustomization applies.
type user struct {
	Kind, Key, Address string
	State              standing.State
}

// maxNamed limits the lists of a page.
const maxNamed = 200

func (p pages) one(r *site.Request) (*site.Page, error) {
	v, err := here(r)
	if err != nil {
		return nil, err
	}
	d := detail{entry: entry{v, v.buttons(r)}, Conditions: v.conditions, Versions: versions(v.original), Graph: "/graph?focus=" + v.Kind + ":" + v.Namespace + "/" + v.Name}
	if strings.HasPrefix(v.Kind, "Image") || strings.HasPrefix(v.Kind, "Helm") {
		d.Graph = "" // the graph has neither images nor charts
	}
	if k, is := v.original.(*kustomizev1.Kustomization); is && k.Status.Inventory != nil {
		for _, e := range k.Status.Inventory.Entries[:min(maxNamed, len(k.Status.Inventory.Entries))] {
			d.Inventory = append(d.Inventory, inventoryName(e.ID))
		}
		d.More = len(k.Status.Inventory.Entries) - len(d.Inventory)
	}
	if d.Users, err = p.users(r, v); err != nil {
		return nil, err
	}
	for _, more := range []func(*site.Request, object) ([]user, error){p.helmUsers, p.imageUsers} {
		some, err := more(r, v)
		if err != nil {
			return nil, err
		}
		d.Users = append(d.Users, some...)
	}
	topics := p.objects.Topics(r.Context(), watched.Stacks, watched.Kustomizations, watched.HelmCharts, watched.Releases, watched.ImagePolicies, watched.ImageUpdates)
	topics = append(topics, live.Topic{Kind: kinds[r.PathValue("kind")].empty(), Namespace: v.Namespace, Name: v.Name})
	return &site.Page{Title: v.called(), Section: Section, Trail: []site.Link{{Text: "Sources and Kustomizations", Address: Section}},
		Commands: commandsFor(v), Parts: []site.Part{{ID: "source", View: "sources-one", Data: d}, {ID: "users", View: "sources-users", Data: d}}, Topics: topics}, nil
}

// inventoryName writes an inventory's id, NAMESPACE_NAME_GROUP_KIND, for people.
func inventoryName(id string) string {
	parts := strings.Split(id, "_")
	if len(parts) != 4 {
		return id
	}
	name := parts[3] + " " + parts[1]
	if parts[0] != "" {
		name = parts[3] + " " + parts[0] + "/" + parts[1]
	}
	return name
}

func commandsFor(v object) []string {
	key := v.Namespace + "/" + v.Name
	if v.Kind == "Kustomization" {
		return []string{"yuba reconcile kustomization " + key + " --with-source", "yuba tree kustomization " + key, "yuba suspend kustomization " + key}
	}
	verb := map[string]string{"GitRepository": "source git ", "OCIRepository": "source oci ", "Bucket": "source bucket ", "HelmRepository": "source helm ",
		"HelmChart": "source chart ", "HelmRelease": "helmrelease ", "ImageRepository": "image-repository ",
		"ImagePolicy": "image-policy ", "ImageUpdateAutomation": "image-update "}[v.Kind]
	if verb == "" {
		return []string{fmt.Sprintf("yuba kubectl get %s -n %s %s -o yaml", strings.ToLower(v.Kind), v.Namespace, v.Name)}
	}
	return []string{"yuba reconcile " + verb + key, "yuba suspend " + verb + key}
}

// users are the stacks and Kustomizations that take from a source, or what a Kustomization applies.
func (p pages) users(r *site.Request, v object) (list []user, err error) {
	stacks, err := watched.List(r, p.objects, watched.Stacks)
	if err != nil {
		return nil, err
	}
	for _, t := range stacks.Items {
		if takes(t, v) && len(list) < maxNamed {
			list = append(list, user{"Stack", t.Namespace + "/" + t.Name, site.Path("stacks", t.Namespace, t.Name), standing.Of(t)})
		}
	}
	kustomizations, err := watched.List(r, p.objects, watched.Kustomizations)
	if err != nil {
		return nil, err
	}
	for _, k := range kustomizations.Items {
		if one := read(k); one.source == (source{v.Kind, v.Namespace, v.Name}) && len(list) < maxNamed {
			list = append(list, user{"Kustomization", k.Namespace + "/" + k.Name, one.Address, one.State})
		}
	}
	return list, nil
}

// takes reports whether a stack takes from a source, or is applied by a Kustomization.
func takes(t *infrav1.Terraform, v object) bool {
	if v.Kind == "Kustomization" {
		namespace, name := standing.AppliedBy(t.Namespace, t.Labels)
		return name == v.Name && namespace == v.Namespace
	}
	ref := t.Spec.SourceRef
	return ref != nil && ref.Kind == v.Kind && ref.Name == v.Name && (ref.Namespace == v.Namespace || ref.Namespace == "" && t.Namespace == v.Namespace)
}
