// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// Left are objects of a kind that does not move.
type Left struct {
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Count     int    `json:"count"`
	// Why is set if they could not be counted.
	Why string `json:"why,omitempty"`
}

// pair is an object at the source and its counterpart at the target.
type pair struct {
	kind    shape.Kind
	version string
	item    decide.Item
	// source and target may be nil.
	source, target *unstructured.Unstructured
}

// space is one namespace of a move.
type space struct {
	name     string
	step     decide.Step
	pairs    []*pair
	from, to *record
	// frozen counts the objects that were suspended at the source.
	frozen int
}

// gathered is everything that a plan is made of.
type gathered struct {
	spaces []*space
	uids   shape.UIDs
	facts  decide.Facts
	// own has the UIDs of the source that move.
	own  shape.UIDs
	left []Left
	// managers are Kustomizations of other namespaces, by NAMESPACE/NAME; nil for missing ones.
	managers map[string]*unstructured.Unstructured
	// offers are the definitions of application kinds.
	offers *offers
}

// gather reads both homes.
func (m *Mover) gather(ctx context.Context) (*gathered, error) {
	g := &gathered{uids: shape.UIDs{}, managers: map[string]*unstructured.Unstructured{}, facts: decide.Facts{From: m.From.Home, To: m.To.Home}}
	var err error
	if g.offers, err = m.gatherOffers(ctx); err != nil {
		return nil, err
	}
	for _, name := range m.Namespaces {
		if err := m.gatherSpace(ctx, g, name); err != nil {
			return nil, err
		}
	}
	for _, s := range g.spaces {
		for _, p := range s.pairs {
			g.facts.Objects = append(g.facts.Objects, m.objectFacts(g, s, p))
		}
	}
	g.facts.Definitions = g.offers.facts()
	if err := m.gatherBreakers(ctx, g); err != nil {
		return nil, err
	}
	return g, m.gatherBlocked(ctx, g)
}

func (m *Mover) gatherSpace(ctx context.Context, g *gathered, name string) error {
	here, err := m.From.namespace(ctx, name)
	if err != nil {
		return err
	}
	there, err := m.To.namespace(ctx, name)
	if err != nil {
		return err
	}
	s := &space{name: name, from: &record{}, to: &record{}}
	ns := decide.Namespace{Name: name, Missing: here == nil, Exists: there != nil,
		Deleting: here != nil && here.GetDeletionTimestamp() != nil || there != nil && there.GetDeletionTimestamp() != nil}
	if here != nil {
		if s.from, err = m.From.readRecord(ctx, name); err != nil {
			return err
		}
		if s.to, err = m.To.readRecord(ctx, name); err != nil {
			return err
		}
		if err := m.gatherPairs(ctx, g, s); err != nil {
			return err
		}
		ns.TooMany = s.tooMany()
		g.left = append(g.left, m.leftIn(ctx, name)...)
	}
	ns.Source, ns.Target = s.from.facts(), s.to.facts()
	g.facts.Namespaces = append(g.facts.Namespaces, ns)
	g.spaces = append(g.spaces, s)
	return nil
}

func (m *Mover) gatherPairs(ctx context.Context, g *gathered, s *space) error {
	for _, k := range m.From.kinds() {
		if len(m.From.served[k.GK]) == 0 {
			continue
		}
		shared := version(k, m.From, m.To)
		read := shared
		if read == "" {
			read = m.From.served[k.GK][0]
		}
		sources, err := m.From.list(ctx, k, read, s.name)
		if err != nil {
			return err
		}
		there := map[string]*unstructured.Unstructured{}
		if shared != "" {
			targets, err := m.To.list(ctx, k, shared, s.name)
			if err != nil {
				return err
			}
			for i := range targets {
				there[targets[i].GetName()] = &targets[i]
			}
		}
		if k.Application() && len(sources) > 0 {
			if shared == "" && g.offers.brings(k) {
				shared = read // the target serves it as soon as it has the definition
			}
			g.offers.use(k)
		}
		for i := range sources {
			p := &pair{kind: k, version: shared, source: &sources[i], target: there[sources[i].GetName()]}
			p.item = decide.Item{Kind: k.String(), Namespace: s.name, Name: p.source.GetName()}
			if p.target != nil {
				g.uids[string(p.source.GetUID())] = string(p.target.GetUID())
			}
			s.pairs = append(s.pairs, p)
		}
	}
	return nil
}

// objectFacts are the facts about one object, but for what blocks it.
func (m *Mover) objectFacts(g *gathered, s *space, p *pair) decide.Object {
	o := decide.Object{Kind: p.kind.String(), Namespace: s.name, Name: p.source.GetName(), Active: p.kind.Active, Served: p.version != "",
		Skip: cmp.Or(shape.Skip(p.kind, p.source), g.offers.skip(p.kind)), Deleting: p.source.GetDeletionTimestamp() != nil, Notes: m.notes(g, p)}
	if mark, ok := moving.MovedTo(p.source); ok {
		o.MovedTo, o.MovedToName = mark.Home, mark.Name
	}
	_, o.Arriving = moving.ArrivingFrom(p.source)
	known, listed := s.to.Objects[keyOf(o.Kind, o.Name)]
	o.Target = decide.Counterpart{Exists: p.target != nil, Listed: listed, Current: listed && known.Move == s.to.Move && s.to.Role == decide.RoleTarget}
	if p.target == nil || p.version == "" {
		return o
	}
	wanted, _ := shape.Wanted(p.kind, p.source, shape.Target{APIVersion: apiVersion(p.kind, p.version), UIDs: g.uids})
	o.Target.Same = shape.Covers(p.kind, p.target, wanted) && (!m.pushes(p) || artifactOf(p.target) == artifactOf(p.source))
	o.Target.Unchangeable = shape.Unchangeable(p.kind, p.target, wanted)
	o.Target.Unchanged = listed && known.Digest != "" && known.Digest == shape.Digest(p.kind, p.target)
	o.Target.Deleting = p.target.GetDeletionTimestamp() != nil
	_, away := moving.MovedTo(p.target)
	_, arriving := moving.ArrivingFrom(p.target)
	o.Target.Works = p.kind.Active && !away && !arriving
	return o
}

func apiVersion(k shape.Kind, v string) string { return k.GK.WithVersion(v).GroupVersion().String() }

// notes are worth knowing before an object moves.
func (m *Mover) notes(g *gathered, p *pair) (notes []string) {
	if _, gone := shape.Wanted(p.kind, p.source, shape.Target{UIDs: g.sourceUIDs()}); len(gone) > 0 {
		notes = append(notes, "its owner does not move, and it moves without one: "+strings.Join(gone, ", "))
	}
	if p.kind.GK == shape.Stacks.GK {
		notes = append(notes, m.stackNotes(p)...)
	}
	return notes
}

func (m *Mover) stackNotes(p *pair) (notes []string) {
	for _, ref := range []string{"sourceRef", "cliConfigSecretRef"} {
		ns, _, _ := unstructured.NestedString(p.source.Object, "spec", ref, "namespace") //nolint:errcheck // none
		if ns != "" && !slices.Contains(m.Namespaces, ns) {
			notes = append(notes, fmt.Sprintf("its %s is in namespace %s, which does not move", ref, ns))
		}
	}
	if tokens, _, _ := unstructured.NestedSlice(p.source.Object, "spec", "identityTokens"); len(tokens) > 0 { //nolint:errcheck // none
		notes = append(notes, "its identity tokens have another issuer at "+m.To.Name+". Let the cloud trust that first")
	}
	pending, _, _ := unstructured.NestedString(p.source.Object, "status", "plan", "pending") //nolint:errcheck // none
	digest, _, _ := unstructured.NestedString(p.source.Object, "status", "plan", "digest")   //nolint:errcheck // none
	if pending != "" && (digest == "" || !m.From.Yuba || !m.To.Yuba) {
		notes = append(notes, "its pending plan "+pending+" does not move: it is planned anew")
	}
	return notes
}

// sourceUIDs maps the UIDs of all objects at the source to themselves.
func (g *gathered) sourceUIDs() shape.UIDs {
	if g.own == nil {
		g.own = shape.UIDs{}
		for _, s := range g.spaces {
			for _, p := range s.pairs {
				if p.version != "" && shape.Skip(p.kind, p.source) == "" && g.offers.skip(p.kind) == "" {
					g.own[string(p.source.GetUID())] = string(p.source.GetUID())
				}
			}
		}
	}
	return g.own
}

// transient are kinds whose objects homes make themselves.
var transient = []string{"events", "leases", "endpoints", "endpointslices", "controllerrevisions", "pods", "replicasets"}

// leftIn counts the objects of kinds that do not move.
func (m *Mover) leftIn(ctx context.Context, namespace string) (left []Left) {
	for _, r := range m.From.resources {
		moves := slices.ContainsFunc(m.From.kinds(), func(k shape.Kind) bool { return k.GK.Group == r.Group && k.Plural == r.Resource })
		if moves || slices.Contains(transient, r.Resource) || strings.HasSuffix(r.Group, "metrics.k8s.io") {
			continue
		}
		list, err := m.From.objects.Resource(r).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: pageSize})
		name := r.Resource
		if r.Group != "" {
			name += "." + r.Group
		}
		switch {
		case err != nil:
			left = append(left, Left{Namespace: namespace, Kind: name, Why: err.Error()})
		case len(list.Items) > 0:
			count := len(list.Items)
			if more := list.GetRemainingItemCount(); more != nil {
				count += int(*more)
			}
			left = append(left, Left{Namespace: namespace, Kind: name, Count: count})
		}
	}
	sort.Slice(left, func(i, j int) bool { return left[i].Kind < left[j].Kind })
	return left
}
