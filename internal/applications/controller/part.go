// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/applications/rollout"
)

// part is the part of an instance in the rollout of its definition.
type part struct {
	instance *render.Instance
	// mark is the stamp of the object, and made the digest of what it was made from.
	mark stamp
	made string
	// target: its object is as the target says. unaffected: the target makes the same of it as what it
	// follows. broken: no object can be made with the target.
	target, unaffected, broken bool
	// turn is its turn, if has.
	turn turn
	has  bool
	// still: several objects stay as they are until its turn.
	still bool
	// written: this pass wrote the object.
	written bool
}

func (t *part) wrote(mark stamp) { t.mark, t.written = mark, true }

// choose chooses the definition that the object follows now. Without its turn, an instance follows the
// revision that it has.
func (p *pass) choose() {
	t := &p.part
	t.made, t.mark = p.live.Annotations[appv1.AnnotationMade], stampOf(p.live)
	if p.behind(p.live) {
		m := p.memory.get(p.key)
		t.made, t.mark = m.digest, m.stamp
	}
	w := p.kind.wave
	if w == nil || p.kind.parsed == nil || p.facts.Deleting {
		return
	}
	t.broken = p.manifest == nil
	// An instance that has had its turn keeps the target, whatever its user changes.
	t.target = !t.broken && t.made == p.digest || t.mark.revision == w.Target
	follows := w.Base
	if t.mark.revision > w.Base && t.mark.revision != w.Target {
		follows = t.mark.revision // an unfinished rollout before this one
	}
	older, digest := p.madeFrom(follows)
	// The API fills new defaults into specs, also for what the base makes. What the object was made from
	// tells, unless its user has changed the instance since.
	untouched := t.mark.generation == p.meta.Generation
	t.unaffected = follows == w.Base && !t.broken && older != nil && digest == p.digest && (t.made == digest || !untouched)
	if t.turn, t.has = w.turn(p.key, p.Now()); t.target || t.unaffected || t.has && !t.broken {
		return
	}
	t.has, p.revision = false, follows
	if t.broken && older == nil {
		return // its user has to change something, whatever it follows
	}
	p.facts.Refused, p.facts.Invalid = "", ""
	if untouched && t.made != digest {
		older, digest = nil, ""
	}
	p.manifest, p.digest = older, digest // without a manifest the object stays as it is
}

// madeFrom makes the object of an earlier revision of the definition; nil if it cannot.
func (p *pass) madeFrom(revision int64) (*unstructured.Unstructured, string) {
	d := p.kind.wave.older[revision]
	if d == nil || p.part.instance == nil {
		return nil, ""
	}
	u, digest, err := made(d, p.part.instance)
	if err != nil {
		return nil, ""
	}
	return u, digest
}

// stamp is the stamp for a write of the object.
func (p *pass) stamp() stamp {
	t := p.part
	if p.live != nil && t.made == p.digest && t.mark.revision > 0 {
		return t.mark // somebody changed the object: only that is undone
	}
	s := stamp{revision: max(p.revision, 1), generation: p.meta.Generation, since: t.mark.since}
	if p.live != nil && t.has && !t.target && !t.unaffected {
		s.since = time.Time{}
		if t.turn.starts {
			s.since = t.turn.at.UTC().Truncate(time.Second)
		}
	}
	return s
}

// member is the instance in the rollout, without its state. A deleted one is not on its way: its deletion
// may be blocked for ever, and the change would not help. Neither is one that another home has.
func (p *pass) member(deleting bool) rollout.Instance {
	t := p.part
	m := rollout.Instance{Name: p.key.member(), Frozen: deleting || p.facts.Moved != "", Broken: t.broken, Unaffected: t.unaffected, Target: t.target}
	if !m.Frozen {
		m.Since = t.mark.since
	}
	return m
}

// takePart tells the rollout what the pass has found and done.
func (p *pass) takePart(d decide.Decision) {
	w, t := p.kind.wave, p.part
	if w == nil {
		return
	}
	m := p.member(p.facts.Deleting)
	switch {
	case p.facts.Deleting:
	case t.written && p.revision == w.Target:
		m.Target = true
	case t.written:
	case p.live == nil || t.has && p.facts.Invalid != "":
		m.Broken, m.Target = true, false // it has no object, or the API refuses the new one
	default:
		m.Ready, m.Failed, m.Waits = d.Ready == "True", d.Phase == appv1.PhaseFailed, d.Phase == appv1.PhaseAwaitingApproval
	}
	if w.report(p.key, m) {
		p.rollQueue.Add(p.key.Kind, rollAfter)
	}
}

// leave tells the rollout that an instance is gone.
func (a *Applications) leave(k kind, key Key) {
	if k.wave != nil {
		k.wave.forget(key)
		a.rollQueue.Add(key.Kind, rollAfter)
	}
}

// follows is the revision that the instance follows, for its status; nil if it is not known.
func (p *pass) follows() *appv1.InstanceDefinition {
	f := appv1.InstanceDefinition{Revision: p.part.mark.revision}
	if w := p.kind.wave; w != nil && p.revision != w.Target && !p.facts.Deleting {
		f.Waiting = w.Target
	}
	if f == (appv1.InstanceDefinition{}) {
		return nil
	}
	return &f
}
