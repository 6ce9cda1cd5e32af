// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package graph

import (
	"cmp"
	"slices"
	"strings"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	tenantv1 "github.com/yuba-dev/yuba/api/tenant/v1"
	"github.com/yuba-dev/yuba/internal/contracts/impact"
	"github.com/yuba-dev/yuba/internal/web/site"
	"github.com/yuba-dev/yuba/internal/web/standing"
)

// Kind is what a node is.
type Kind string

// The kinds of nodes, in the order in which changes flow.
const (
	Source        Kind = "source"
	Kustomization Kind = "kustomization"
	Stack         Kind = "stack"
	Contract      Kind = "contract"
	Outputs       Kind = "outputs"
	Tenant        Kind = "tenant"
	Application   Kind = "application"
	// Group stands for many nodes.
	Group Kind = "group"
)

// Node is something in the graph.
type Node struct {
	ID   string
	Kind Kind
	// Type is the kind of the object, such as GitRepository.
	Type            string
	Namespace, Name string
	State           standing.State
	Says            string
	// Address is the object's page; empty for none.
	Address string
	Labels  map[string]string
	// Size counts the nodes of a group, Bad those of them that need somebody.
	Size, Bad int
}

// Key is the node's name with its namespace.
func (n *Node) Key() string { return n.Namespace + "/" + n.Name }

// Edge leads from what is needed to what needs it.
type Edge struct {
	From, To string
	// How says in which way, Soft is true if a change does not flow.
	How  string
	Soft bool
	// Count is how many edges between members of groups it stands for.
	Count int
}

// Model is everything.
type Model struct {
	Nodes map[string]*Node
	Edges []Edge
}

// Objects are what a model is made of.
type Objects struct {
	Stacks         []*infrav1.Terraform
	Kustomizations []*kustomizev1.Kustomization
	Sources        []SourceObject
	Tenants        []*tenantv1.Tenant
	// Definitions tell the addresses of the applications that stacks are made for.
	Definitions []*appv1.ApplicationDefinition
}

// SourceObject is a source of any kind.
type SourceObject struct {
	Object metav1.Object
	Type   string
	State  standing.State
	Says   string
}

// ModelOf makes a model of objects.
func ModelOf(o Objects) *Model {
	m := &Model{Nodes: map[string]*Node{}}
	for _, s := range o.Sources {
		namespace, name := s.Object.GetNamespace(), s.Object.GetName()
		m.add(&Node{ID: id(s.Type, namespace, name), Kind: Source, Type: s.Type, Namespace: namespace, Name: name, State: s.State, Says: s.Says,
			Labels: s.Object.GetLabels(), Address: site.Path("sources", strings.ToLower(s.Type), namespace, name)})
	}
	for _, k := range o.Kustomizations {
		state, says := standing.OfConditions(k, k.Status.Conditions, k.Spec.Suspend)
		n := m.add(&Node{ID: id("Kustomization", k.Namespace, k.Name), Kind: Kustomization, Type: "Kustomization", Namespace: k.Namespace, Name: k.Name, State: state,
			Says: says, Labels: k.Labels, Address: site.Path("sources", "kustomization", k.Namespace, k.Name)})
		m.need(n, k.Spec.SourceRef.Kind, cmp.Or(k.Spec.SourceRef.Namespace, k.Namespace), k.Spec.SourceRef.Name, "source", false)
		for _, d := range k.Spec.DependsOn {
			m.need(n, "Kustomization", cmp.Or(d.Namespace, k.Namespace), d.Name, "dependsOn", true)
		}
		m.appliedBy(n, k.Labels)
	}
	tenants := map[string]*Node{}
	for _, t := range o.Tenants {
		state, says := standing.OfConditions(t, t.Status.Conditions, false)
		tenants[t.Namespace+"/"+t.Name] = m.add(&Node{ID: id(tenantv1.TenantKind, t.Namespace, t.Name), Kind: Tenant, Type: tenantv1.TenantKind,
			Namespace: t.Namespace, Name: t.Name, State: state, Says: says, Labels: t.Labels, Address: site.Path("tenants", t.Namespace, t.Name)})
	}
	plurals := map[string]string{}
	for _, d := range o.Definitions {
		plurals[d.Spec.Application.Kind] = d.Spec.Application.Plural
	}
	for _, t := range o.Stacks {
		n := m.add(&Node{ID: id("Terraform", t.Namespace, t.Name), Kind: Stack, Type: "Terraform", Namespace: t.Namespace, Name: t.Name, State: standing.Of(t),
			Says: standing.Sentence(t), Labels: t.Labels, Address: site.Path("stacks", t.Namespace, t.Name)})
		if ref := t.Spec.SourceRef; ref != nil && ref.Name != "" {
			m.need(n, ref.Kind, cmp.Or(ref.Namespace, t.Namespace), ref.Name, "source", false)
		}
		m.appliedBy(n, t.Labels)
		if owner := tenants[standing.TenantOf(t)]; owner != nil {
			m.edge(n.ID, owner.ID, "part of the tenant", false)
		}
		m.madeFor(n, plurals)
	}
	m.exchange(o.Stacks)
	slices.SortFunc(m.Edges, func(a, b Edge) int {
		return cmp.Or(strings.Compare(a.From, b.From), strings.Compare(a.To, b.To), strings.Compare(a.How, b.How))
	})
	m.Edges = slices.Compact(m.Edges)
	return m
}

// madeFor adds the instance of an application kind that a stack is made for. It stands as its stack does.
func (m *Model) madeFor(n *Node, plurals map[string]string) {
	kind, name := n.Labels[appv1.LabelKind], n.Labels[appv1.LabelName]
	if kind == "" || name == "" {
		return
	}
	application := &Node{ID: id(kind, n.Namespace, name), Kind: Application, Type: kind, Namespace: n.Namespace, Name: name, State: n.State, Says: n.Says}
	if plural := plurals[kind]; plural != "" {
		application.Address = site.Path("applications", plural, n.Namespace, name)
	}
	m.edge(n.ID, m.add(application).ID, "made for the application", false)
}

// exchange adds what stacks give each other.
func (m *Model) exchange(stacks []*infrav1.Terraform) {
	all := make([]infrav1.Terraform, len(stacks))
	for i, t := range stacks {
		all[i] = *t
	}
	given := func(kind Kind, producer, name string) *Node {
		namespace, _, _ := strings.Cut(producer, "/")
		from := m.stack(producer)
		n := m.add(&Node{ID: string(kind) + ":" + producer + ":" + name, Kind: kind, Type: string(kind), Namespace: namespace, Name: name, State: from.State,
			Says: "From " + producer + ".", Labels: from.Labels})
		how := "writes"
		if kind == Contract {
			n.Address, how = site.Path("contracts", namespace, name), "publishes"
		}
		m.edge(from.ID, n.ID, how, false)
		return n
	}
	for _, t := range stacks {
		for _, p := range t.Spec.Publishes {
			given(Contract, t.Namespace+"/"+t.Name, p.Contract)
		}
	}
	for _, e := range impact.Of(all).Edges {
		to := m.stack(e.Consumer)
		switch e.Kind {
		case impact.ByContract:
			name, wants, _ := strings.Cut(e.Through, " ")
			m.edge(given(Contract, e.Producer, name).ID, to.ID, strings.TrimSpace("consumes "+wants), false)
		case impact.ByOutputs:
			m.edge(given(Outputs, e.Producer, strings.TrimPrefix(e.Through, "Secret ")).ID, to.ID, "reads", false)
		case impact.ByOrder:
			m.edge(m.stack(e.Producer).ID, to.ID, string(e.Kind), true)
		}
	}
}

// stack returns the node of a stack, which may be missing.
func (m *Model) stack(key string) *Node {
	namespace, name, _ := strings.Cut(key, "/")
	return m.referred("Terraform", namespace, name)
}

// referred returns the node of an object that another one names.
func (m *Model) referred(kind, namespace, name string) *Node {
	key := id(kind, namespace, name)
	if n := m.Nodes[key]; n != nil {
		return n
	}
	of := Source
	switch kind {
	case "Terraform":
		of = Stack
	case "Kustomization":
		of = Kustomization
	}
	return m.add(&Node{ID: key, Kind: of, Type: kind, Namespace: namespace, Name: name, State: standing.Missing,
		Says: "Others refer to it. It does not exist, or you may not see it."})
}

func (m *Model) need(n *Node, kind, namespace, name, how string, soft bool) {
	m.edge(m.referred(kind, namespace, name).ID, n.ID, how, soft)
}

func (m *Model) appliedBy(n *Node, labels map[string]string) {
	namespace, name := standing.AppliedBy(n.Namespace, labels)
	by := id("Kustomization", namespace, name)
	if name != "" && by != n.ID {
		m.edge(m.referred("Kustomization", namespace, name).ID, n.ID, "applies", false)
	}
}

func (m *Model) add(n *Node) *Node {
	if known := m.Nodes[n.ID]; known != nil && known.State != standing.Missing {
		return known
	} else if known != nil { // edges know its id only
		*known = *n
		return known
	}
	m.Nodes[n.ID] = n
	return n
}

func (m *Model) edge(from, to, how string, soft bool) {
	if from != to {
		m.Edges = append(m.Edges, Edge{From: from, To: to, How: how, Soft: soft})
	}
}

func id(kind, namespace, name string) string { return kind + ":" + namespace + "/" + name }
