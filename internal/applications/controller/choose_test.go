// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/composition"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/definition"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/applications/rollout"
	"github.com/yuba-dev/yuba/internal/objects/owned"
)

func parsed(t *testing.T, text string) *definition.Definition {
	t.Helper()
	d := &appv1.ApplicationDefinition{}
	if err := yaml.UnmarshalStrict([]byte(text), d); err != nil {
		t.Fatal(err)
	}
	p, found := definition.Parse(d)
	if p == nil {
		t.Fatal(found)
	}
	return p
}

// choosing is a pass over an instance in a rollout of revision 2 that gave nobody a turn. The API gives it
// the spec.
func choosing(base, target *definition.Definition, spec string) *pass {
	w := newWave(revisions.State{Base: 1, Target: 2}, map[int64]*definition.Definition{1: base})
	w.set(policy{limit: "1", deadline: patience})
	return &pass{Applications: &Applications{Now: time.Now}, key: Key{target.Application.Kind, "team", "photos"}, sight: &sight{spec: []byte(spec)}, revision: 2,
		meta: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{UID: "uid-1", Generation: 4}}, kind: kind{backend: target.Backend, parsed: target, target: 2, wave: w},
		composed: &composed{made: target.Composition, seen: map[string]composition.Seen{}}}
}

const tieredYAML = `
metadata: {name: buckets}
spec:
  application: {kind: Bucket, plural: buckets, singular: bucket, openAPISchema: '{"type":"object","properties":{"tier":{"type":"string"}}}'}
  backend:
    type: Terraform
    terraform:
      prefix: bucket-
      inline: {main.tf: "variable \"tier\" {\n  default = null\n}"}
`

const hot = `{"type":"string","default":"hot"}`

// TestDefaultsThatTheAPIFilledInWaitForTheirTurn: after a restart, base and target make the same of a spec
// that has the target's default already.
func TestDefaultsThatTheAPIFilledInWaitForTheirTurn(t *testing.T) {
	base, target := parsed(t, tieredYAML), parsed(t, strings.Replace(tieredYAML, `{"type":"string"}`, hot, 1))
	for sentence, c := range map[string]struct {
		made       string
		generation int64
		unaffected bool
		stays      bool
	}{
		"it was made without the default":         {made: `{}`, generation: 4, stays: true},
		"it was made with the same value":         {made: `{"tier":"hot"}`, generation: 4, unaffected: true},
		"its user has changed it since":           {made: `{}`, generation: 3, unaffected: true},
		"it was made with another value":          {made: `{"tier":"cold"}`, generation: 4, stays: true},
		"nobody knows what it was made from then": {made: `{}`, unaffected: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			at := func(spec string) *pass {
				p := choosing(base, target, spec)
				if err := p.render(t.Context()); err != nil || p.manifest == nil {
					t.Fatal(err, p.facts)
				}
				return p
			}
			before := at(c.made)
			_, digest, err := made(base, before.part.instance)
			if err != nil {
				t.Fatal(err)
			}
			p := at(`{"tier":"hot"}`)
			p.live = &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{appv1.AnnotationMade: digest}}}
			if c.generation > 0 {
				p.live.Annotations[appv1.AnnotationStamp] = stamp{revision: 1, generation: c.generation}.String()
			}
			p.choose()
			if p.part.unaffected != c.unaffected || (p.manifest == nil) != c.stays {
				t.Errorf("unaffected: %v, manifest: %v", p.part.unaffected, p.manifest)
			}
		})
	}
}

const layeredYAML = `
metadata: {name: sets}
spec:
  application: {kind: Set, plural: sets, singular: set, openAPISchema: '{"type":"object","properties":{"tier":{"type":"string"}}}'}
  backend:
    type: Composition
    composition:
      prefix: set-
      resources:
      - id: notes
        template: {apiVersion: v1, kind: ConfigMap, metadata: {name: "set-${metadata.name}-notes"}, data: {tier: "${spec.?tier.orValue('none')}"}}
      - id: login
        template: {apiVersion: v1, kind: Secret, metadata: {name: "set-${metadata.name}-login"}, stringData: {password: s3cr3t}}
`

// TestWhatChangesOfSeveralObjects is the same for an instance with several objects, and says what counts
// as a change of them.
func TestWhatChangesOfSeveralObjects(t *testing.T) {
	for sentence, c := range map[string]struct {
		change     [2]string
		made, spec string
		generation int64
		unaffected bool
		stays      bool
	}{
		"nothing":           {made: `{}`, spec: `{}`, generation: 4, unaffected: true},
		"a template":        {change: [2]string{"{tier: ", "{a: b, tier: "}, made: `{}`, spec: `{}`, generation: 4},
		"what a Secret has": {change: [2]string{"s3cr3t", "0ther"}, made: `{}`, spec: `{}`, generation: 4},
		"a default that the API has not filled in":    {change: [2]string{`{"type":"string"}`, hot}, made: `{}`, spec: `{}`, generation: 4},
		"a default that the API has filled in":        {change: [2]string{`{"type":"string"}`, hot}, made: `{}`, spec: `{"tier":"hot"}`, generation: 4, stays: true},
		"a default that it has itself":                {change: [2]string{`{"type":"string"}`, hot}, made: `{"tier":"hot"}`, spec: `{"tier":"hot"}`, generation: 4, unaffected: true},
		"a default, and its user changed it since":    {change: [2]string{`{"type":"string"}`, hot}, made: `{}`, spec: `{"tier":"hot"}`, generation: 3, unaffected: true},
		"a template, and the API filled in a default": {change: [2]string{`{"type":"string"}`, hot + `,"a":{"type":"string"}`}, made: `{}`, spec: `{"tier":"hot"}`, generation: 4, stays: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			base, target := parsed(t, layeredYAML), parsed(t, strings.Replace(layeredYAML, c.change[0], c.change[1], 1))
			before := choosing(base, target, c.made)
			i, err := before.instance(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := choosing(base, target, c.spec)
			for _, r := range base.Composition.Resources {
				mark := stamp{revision: 1, generation: c.generation, spec: specDigest(base, i)}
				live := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: r.Name("photos"), Annotations: map[string]string{appv1.AnnotationStamp: mark.String()}}}
				p.add(live, r.GVK, nil)
			}
			if err := p.chooseComposed(t.Context()); err != nil {
				t.Fatal(err)
			}
			if p.part.unaffected != c.unaffected || p.part.still != c.stays || !c.unaffected && (p.part.has || p.revision != 1) {
				t.Errorf("unaffected: %v, still: %v, revision %d", p.part.unaffected, p.part.still, p.revision)
			}
			if err := p.want(t.Context()); err != nil {
				t.Fatal(err)
			}
			for n, part := range p.composed.parts {
				if fact := p.composed.facts.Parts[n]; c.stays && (part.manifest != nil || !fact.Wanted || !fact.Object.Current) {
					t.Errorf("%s does not stay as it is: %+v", part.id.Name, fact)
				}
			}
		})
	}
}

// TestWhatIsMissingWaits: an instance that stays as it is gets nothing new, either.
func TestWhatIsMissingWaits(t *testing.T) {
	base := parsed(t, layeredYAML)
	p := choosing(base, base, `{}`)
	p.part = part{still: true, instance: &render.Instance{Kind: "Set", Namespace: "team", Name: "photos"}}
	kind := schema.GroupVersionKind{Version: "v1", Kind: "ConfigMap"}
	p.add(&metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "set-photos-notes"}}, kind, nil)
	if err := p.want(t.Context()); err != nil {
		t.Fatal(err)
	}
	if c := p.composed; len(c.parts) != 1 || c.parts[0].id != (owned.ID{GroupKind: kind.GroupKind(), Namespace: "team", Name: "set-photos-notes"}) {
		t.Errorf("it wants %+v", c.facts.Parts)
	}
}

// TestAFrozenInstanceHoldsNoRollout: it takes no place, however long its deletion is blocked or another
// home has it.
func TestAFrozenInstanceHoldsNoRollout(t *testing.T) {
	base, target := parsed(t, tieredYAML), parsed(t, strings.Replace(tieredYAML, "default = null", "default = 1", 1))
	now := time.Now()
	for sentence, take := range map[string]func(p *pass, deleting bool){
		"with one object": func(p *pass, deleting bool) {
			p.facts.Deleting = deleting
			p.takePart(decide.Decision{Standing: decide.Standing{Ready: "False"}})
		},
		"with several": func(p *pass, deleting bool) {
			p.composed.facts.Deleting, p.composed.parts = deleting, []*component{{live: p.live}}
			p.takePartComposed(decide.Composite{Standing: decide.Standing{Ready: "False"}})
		},
	} {
		for state, frozen := range map[string]bool{"at work": false, "deleted": true, "moved": true} {
			t.Run(sentence+", "+state, func(t *testing.T) {
				p := choosing(base, target, `{}`)
				p.live, p.part = &metav1.PartialObjectMetadata{}, part{target: true, mark: stamp{revision: 2, generation: 4, since: now}}
				if state == "moved" {
					p.facts.Moved = "Moved to prod"
				}
				take(p, state == "deleted")
				w := p.kind.wave
				w.begin()
				other := Key{p.key.Kind, "team", "other"}
				w.report(other, rollout.Instance{Name: other.member(), Ready: true})
				f, whole := w.facts([]Key{p.key, other}, now)
				if d := rollout.Decide(f); !whole || (len(d.Update) == 1) != frozen {
					t.Errorf("turns: %v, %s", d.Update, d.Message)
				}
			})
		}
	}
}

const outputsYAML = `
metadata: {name: notes}
spec:
  application: {kind: Note, plural: notes, singular: note, openAPISchema: '{"type":"object"}'}
  backend:
    type: Composition
    composition:
      prefix: note-
      resources: [{id: it, template: {apiVersion: v1, kind: ConfigMap, data: {a: b}}}]
      outputs: {known: "${resources.it.name}", lost: "${resources.it.name}"}
`

// TestOutputsStayWhileResourcesAreNotReady: also in the first pass after a restart, which has no memory.
func TestOutputsStayWhileResourcesAreNotReady(t *testing.T) {
	for phase, want := range map[string]string{appv1.PhaseProgressing: `"old"`, appv1.PhaseReady: ""} {
		d := parsed(t, outputsYAML)
		p := choosing(d, d, `{}`)
		p.composed.decided.Phase = phase
		s := &appv1.InstanceStatus{Outputs: map[string]apiextensionsv1.JSON{
			"known": {Raw: []byte(`"old"`)}, "lost": {Raw: []byte(`"old"`)}, "gone": {Raw: []byte(`"old"`)}}}
		if err := p.showComposed(s, map[string]any{"known": "new"}, nil); err != nil {
			t.Fatal(err)
		}
		if _, gone := s.Outputs["gone"]; string(s.Outputs["known"].Raw) != `"new"` || string(s.Outputs["lost"].Raw) != want || gone {
			t.Errorf("%s: %s", phase, s.Outputs)
		}
	}
}
