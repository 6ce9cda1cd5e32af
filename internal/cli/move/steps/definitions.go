// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
)

// definitionVersion is the version of definitions. There is only one.
const definitionVersion = "v1alpha1"

// offers are the definitions of both homes, by the kinds that they declare.
type offers struct {
	from, to map[string]*unstructured.Unstructured
	// served: the target serves definitions.
	served bool
	// used are the application kinds that objects to move have.
	used map[string]bool
}

// gatherOffers reads the definitions of both homes.
func (m *Mover) gatherOffers(ctx context.Context) (*offers, error) {
	o := &offers{used: map[string]bool{}}
	if len(m.From.applications) == 0 {
		return o, nil
	}
	var err error
	if o.from, _, err = m.From.definitions(ctx); err != nil {
		return nil, err
	}
	o.to, o.served, err = m.To.definitions(ctx)
	return o, err
}

// definitions are those of a home, by their kinds; served is false if its API does not know them.
func (s *Side) definitions(ctx context.Context) (all map[string]*unstructured.Unstructured, served bool, err error) {
	list, err := s.of(shape.Definitions, definitionVersion, "").List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("list the application definitions at %s: %w", s.Name, err)
	}
	all = map[string]*unstructured.Unstructured{}
	for i := range list.Items {
		all[shape.Declares(&list.Items[i])] = &list.Items[i]
	}
	return all, true, nil
}

// brings reports whether the move creates the definition of a kind at the target.
func (o *offers) brings(k shape.Kind) bool {
	return o.served && o.from[k.GK.Kind] != nil && o.skip(k) == ""
}

// use notes that an object of the kind is to be moved.
func (o *offers) use(k shape.Kind) {
	if o.from[k.GK.Kind] != nil && o.skip(k) == "" {
		o.used[k.GK.Kind] = true
	}
}

// skip says why objects of an application kind never move; empty if they do.
func (o *offers) skip(k shape.Kind) string {
	if d := o.from[k.GK.Kind]; k.Application() && d != nil && shape.MakesNamespaces(d) {
		return "it makes a namespace, and namespaces move by their names. Create it at the target"
	}
	return ""
}

// facts are the facts about the definitions that are needed.
func (o *offers) facts() (all []decide.Definition) {
	for _, kind := range slices.Sorted(maps.Keys(o.used)) {
		source := o.from[kind]
		d := decide.Definition{Name: source.GetName(), Kind: kind, Served: o.served}
		if rival := o.to[kind]; rival != nil && rival.GetName() != source.GetName() {
			d.Rival = rival.GetName()
		}
		for _, there := range o.to {
			if there.GetName() == source.GetName() {
				d.Exists, d.Same = true, shape.SameSpec(there, source)
			}
		}
		all = append(all, d)
	}
	return all
}

// definitionPatience is how long the target may take to serve a kind.
const definitionPatience = time.Minute

// bringDefinitions creates definitions at the target, and waits until it serves their kinds.
func (m *Mover) bringDefinitions(ctx context.Context, g *gathered) error {
	for _, kind := range slices.Sorted(maps.Keys(g.offers.used)) {
		source := g.offers.from[kind]
		if g.offers.to[kind] == nil {
			_, err := m.To.create(ctx, shape.Definitions, definitionVersion, shape.Definition(source))
			if err != nil && !apierrors.IsAlreadyExists(err) {
				return err
			}
			m.News("Created the application definition %s at %s.", source.GetName(), m.To.Name)
		}
		if err := m.awaitKind(ctx, kind, source.GetName()); err != nil {
			return err
		}
	}
	return nil
}

// awaitKind waits until the target serves a kind.
func (m *Mover) awaitKind(ctx context.Context, kind, definition string) error {
	at := slices.IndexFunc(m.From.applications, func(k shape.Kind) bool { return k.GK.Kind == kind })
	if at < 0 {
		return nil
	}
	k := m.From.applications[at]
	v := m.From.served[k.GK][0]
	if slices.Contains(m.To.served[k.GK], v) {
		return nil
	}
	for began := time.Now(); ; {
		_, err := m.To.of(k, v, metav1.NamespaceDefault).List(ctx, metav1.ListOptions{Limit: 1})
		if err == nil {
			m.To.served[k.GK] = append(m.To.served[k.GK], v)
			return nil
		}
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("list the %s at %s: %w", k.Plural, m.To.Name, err)
		}
		if time.Since(began) > definitionPatience {
			return fmt.Errorf("%s does not serve the kind %s yet, which the application definition %s declares: %s.\nFix that, and run the same command again",
				m.To.Name, kind, definition, m.whyUnserved(ctx, definition))
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitPause):
		}
	}
}

// whyUnserved is what the target's definition says.
func (m *Mover) whyUnserved(ctx context.Context, definition string) string {
	live, err := m.To.get(ctx, shape.Definitions, definitionVersion, "", definition)
	if err != nil || live == nil {
		return "its status is not known"
	}
	if message := ofCondition(live, "Ready", "message"); message != "" {
		return message
	}
	return "it has no status, so no server reconciles it"
}
