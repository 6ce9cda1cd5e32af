// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/cli/move/decide"
	"github.com/yuba-dev/yuba/internal/cli/move/shape"
	"github.com/yuba-dev/yuba/internal/kit/moving"
)

// resuming is the order in which kinds are resumed: first those that keep DNS records, last those that write others.
func (m *Mover) resuming() (kinds []shape.Kind) {
	kinds = append([]shape.Kind{shape.Pools, shape.Claims, shape.FailoverRecords, shape.Stacks, shape.HelmReleases}, m.From.applications...)
	for _, kind := range []string{"Platform", "Tenant", "TenantTemplate", "TenantRegistry", "Kustomization"} {
		kinds = append(kinds, shape.KindOf(kind))
	}
	return kinds
}

// resumed are the stacks that work at the target, and their statuses before.
type resumed struct {
	pair *pair
	// before is the stack as it was when it was resumed.
	before *unstructured.Unstructured
	// suspended: it was suspended at the source, and stays so.
	suspended bool
}

// resume removes the marks at the target, and restores what they say.
func (m *Mover) resume(ctx context.Context, g *gathered) ([]resumed, error) {
	if err := m.awaitSources(ctx, g); err != nil {
		return nil, err
	}
	var all []resumed
	n := 0
	for _, k := range m.resuming() {
		v := version(k, m.From, m.To)
		if v == "" {
			continue
		}
		for _, s := range g.spaces {
			if !g.involved(s) {
				continue
			}
			list, err := m.To.list(ctx, k, v, s.name)
			if err != nil {
				return nil, err
			}
			for i := range list {
				r, ok, err := m.resumeOne(ctx, k, v, &list[i])
				if err != nil {
					return nil, err
				}
				if ok {
					n++
				}
				if k.GK != shape.Stacks.GK {
					continue
				}
				if !ok {
					r, ok = m.resumedEarlier(s, k, v, &list[i])
				}
				if ok {
					all = append(all, r)
				}
			}
		}
	}
	if n > 0 {
		m.News("Resumed %d objects at %s.", n, m.To.Name)
	}
	return all, nil
}

// resumedEarlier returns a stack that an interrupted attempt of this move has resumed. Before that, it
// had the status of the source's copy.
func (m *Mover) resumedEarlier(s *space, k shape.Kind, v string, live *unstructured.Unstructured) (r resumed, ok bool) {
	if s.to.Move != m.id || s.to.Objects[keyOf(k.String(), live.GetName())].Move != m.id {
		return r, false
	}
	for _, p := range s.pairs {
		if p.kind.GK == k.GK && p.item.Name == live.GetName() {
			r.pair = &pair{kind: k, version: v, item: p.item, target: live}
			r.before = p.source
			r.suspended, _, _ = unstructured.NestedBool(live.Object, "spec", "suspend") //nolint:errcheck // none
			return r, true
		}
	}
	return r, false
}

// resumeOne resumes an object that arrived with this move; ok is false for others.
func (m *Mover) resumeOne(ctx context.Context, k shape.Kind, v string, o *unstructured.Unstructured) (r resumed, ok bool, err error) {
	if mark, marked := moving.ArrivingFrom(o); !marked || mark.Move != m.id {
		return r, false, nil
	}
	p := &pair{kind: k, version: v, item: decide.Item{Kind: k.String(), Namespace: o.GetNamespace(), Name: o.GetName()}}
	err = m.To.retried(ctx, p, func(live *unstructured.Unstructured) error {
		mark, marked := moving.ArrivingFrom(live)
		if !marked {
			return nil
		}
		r.pair, r.before = p, live
		made, err := m.To.patch(ctx, k, v, o.GetNamespace(), o.GetName(), shape.Release(moving.AnnotationArriving, live, mark))
		if err == nil {
			p.target = made
			r.suspended, _, _ = unstructured.NestedBool(made.Object, "spec", "suspend") //nolint:errcheck // none
		}
		return err
	})
	return r, err == nil, err
}

// sourcePatience is how long the target may take to fetch the sources. A stack whose source comes
// later reports that meanwhile, and nothing else happens.
const sourcePatience = time.Minute

// awaitSources waits until the target has fetched the sources of the stacks.
func (m *Mover) awaitSources(ctx context.Context, g *gathered) error {
	began, told := time.Now(), false
	for {
		missing, err := m.sourceMissing(ctx, g)
		if err != nil || missing == "" {
			return err
		}
		if time.Since(began) > sourcePatience || !m.To.Yuba {
			m.News("%s at %s does not have an artifact yet. Stacks wait for it.", missing, m.To.Name)
			return nil
		}
		if !told && time.Since(began) > time.Second {
			told = true
			m.News("Waiting for %s to fetch %s …", m.To.Name, missing)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(awaitPause):
		}
	}
}

// sourceMissing names a source of an unsuspended kind without an artifact, that has one at the source.
func (m *Mover) sourceMissing(ctx context.Context, g *gathered) (string, error) {
	for _, s := range g.spaces {
		for _, p := range s.copying() {
			if p.kind.GK.Group != shape.ExternalArtifacts.GK.Group || artifactOf(p.source) == "" {
				continue
			}
			if suspended, _, _ := unstructured.NestedBool(p.source.Object, "spec", "suspend"); suspended { //nolint:errcheck // none
				continue
			}
			live, err := m.To.get(ctx, p.kind, p.version, s.name, p.item.Name)
			if err != nil {
				return "", err
			}
			if live != nil && artifactOf(live) == "" {
				return p.item.Kind + " " + s.name + "/" + p.item.Name, nil
			}
		}
	}
	return "", nil
}

func artifactOf(o *unstructured.Unstructured) string {
	digest, _, _ := unstructured.NestedString(o.Object, "status", "artifact", "digest") //nolint:errcheck // none
	return digest
}
