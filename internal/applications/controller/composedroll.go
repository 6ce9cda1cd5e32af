// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"time"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/applications/schema"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

// chooseComposed chooses the definition that an instance with several objects follows now, as choose does
// for one object. The instance follows the newest revision that one of its objects is stamped with.
func (p *pass) chooseComposed(ctx context.Context) (err error) {
	t := &p.part
	if t.instance, err = p.instance(ctx); err != nil {
		return err
	}
	for _, part := range p.composed.parts {
		if mark := p.markOf(part); mark.revision > t.mark.revision || mark.revision == t.mark.revision && mark.since.After(t.mark.since) {
			t.mark = mark
		}
	}
	w := p.kind.wave
	if w == nil || len(p.composed.parts) == 0 {
		return nil // a new instance begins with the target
	}
	sketch, err := render.SketchDigest(ctx, p.kind.parsed, t.instance)
	t.broken = err != nil
	t.target = !t.broken && t.mark.revision == w.Target
	follows := w.Base
	if t.mark.revision > w.Base && t.mark.revision != w.Target {
		follows = t.mark.revision // an unfinished rollout before this one
	}
	older := w.older[follows]
	t.still = older != nil && p.filled(older)
	t.unaffected = follows == w.Base && !t.broken && !t.still && sketchesAs(ctx, older, t.instance, sketch)
	if t.turn, t.has = w.turn(p.key, p.Now()); t.target || t.unaffected || t.has && !t.broken {
		t.still = false
		return nil
	}
	t.has = false
	p.revision, p.kind.parsed, p.composed.made = follows, older, nil
	if older != nil {
		p.composed.made = older.Composition
	}
	if p.composed.made == nil {
		p.composed.facts.Definition = "The instance stays as it is until its turn: the definition that it follows is not kept any more"
	}
	return nil
}

// sketchesAs reports whether a definition makes the same objects of an instance as a sketch has.
func sketchesAs(ctx context.Context, d *definition.Definition, i *render.Instance, sketch [sha256.Size]byte) bool {
	if d == nil || d.Composition == nil {
		return false
	}
	older, err := render.SketchDigest(ctx, d, i)
	return err == nil && older == sketch
}

// filled reports whether the API has filled defaults of a later definition into the spec since objects
// were made from it: nobody has changed the instance, but the spec is another one. The instance must not get
// them before its turn.
func (p *pass) filled(d *definition.Definition) bool {
	untouched, now := false, specDigest(d, p.part.instance)
	for _, part := range p.composed.parts {
		mark := p.markOf(part)
		if mark.generation != p.meta.Generation || mark.spec == "" {
			continue
		}
		if mark.spec == now {
			return false
		}
		untouched = true
	}
	return untouched
}

// specOf is the spec of an instance as expressions read it.
func specOf(d *definition.Definition, i *render.Instance) map[string]any {
	return schema.WithoutInternal(d.Schema.Default(i.Spec))
}

// specDigest is a short digest of the spec of an instance; empty if it has no JSON form.
func specDigest(d *definition.Definition, i *render.Instance) string {
	content, err := json.Marshal(specOf(d, i))
	if err != nil {
		return ""
	}
	return fmt.Sprintf("%.8x", sha256.Sum256(content))
}

// present are the ids of the resources that the instance has.
func (c *composed) present() map[string]bool {
	included := map[string]bool{}
	for _, r := range c.made.Resources {
		included[r.ID] = c.find(c.idOf(r)) != nil
	}
	return included
}

// markOf is the stamp of an object; its last write counts if the watch has not seen it yet.
func (p *pass) markOf(part *component) stamp {
	m, now := p.memory.get(p.key).pieces[part.id], owned.PrintOf(part.live)
	if m.left.UID == now.UID && owned.Older(now.Version, m.left.Version) {
		return m.stamp
	}
	return stampOf(part.live)
}

// unstamped reports whether the first object of an instance that has its turn is not stamped with the
// target yet. It is written, so that the instance keeps its turn after a restart.
func (p *pass) unstamped(part *component) bool {
	t := p.part
	return t.has && !t.target && !t.unaffected && part == p.composed.parts[0] && p.kind.wave != nil && p.markOf(part).revision != p.kind.wave.Target
}

// stampPart is the stamp for a write of an object.
func (p *pass) stampPart(part *component) stamp {
	t := p.part
	if part.live != nil && part.live.Annotations[appv1.AnnotationMade] == part.digest && !p.unstamped(part) {
		if mark := p.markOf(part); mark.revision > 0 {
			return mark // somebody changed the object: only that is undone
		}
	}
	s := stamp{revision: max(p.revision, 1), generation: p.meta.Generation, since: t.mark.since, spec: specDigest(p.kind.parsed, t.instance)}
	if t.has && !t.target && !t.unaffected {
		s.since = time.Time{}
		if t.turn.starts {
			s.since = t.turn.at.UTC().Truncate(time.Second)
		}
	}
	return s
}

// takePartComposed tells the rollout what the pass has found and done.
func (p *pass) takePartComposed(d decide.Composite) {
	w, t := p.kind.wave, p.part
	if w == nil {
		return
	}
	f := p.composed.facts
	m := p.member(f.Deleting)
	switch {
	case f.Deleting:
	case t.written && p.revision == w.Target:
		m.Target = true
	case t.written:
	case len(p.composed.parts) == 0 || p.composed.parts[0].live == nil && !t.target:
		m.Broken, m.Target = true, false // it has no objects
	default:
		m.Ready, m.Failed, m.Waits = d.Ready == "True", d.Phase == appv1.PhaseFailed, d.Phase == appv1.PhaseAwaitingApproval
	}
	if w.report(p.key, m) {
		p.rollQueue.Add(p.key.Kind, rollAfter)
	}
}
