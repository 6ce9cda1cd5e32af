// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/applications/revisions"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// named is how many instances a message names.
const named = 5

// maxMessage bounds messages of conditions: they are in tables.
const maxMessage = 2000

// names are the names of some instances of a kind, sorted.
func (p *defining) names(kind string, most int) (names []string) {
	p.instances.Each(groupKind(kind), func(m *metav1.PartialObjectMetadata, _ any) { names = append(names, m.Namespace+"/"+m.Name) })
	slices.Sort(names)
	return names[:min(len(names), most)]
}

func (p *defining) count(kind string) (n int) {
	p.instances.Each(groupKind(kind), func(*metav1.PartialObjectMetadata, any) { n++ })
	return n
}

// stranded says which instances do not fit the definition; empty if all do.
func (p *defining) stranded(ctx context.Context) string {
	name := p.obj.Spec.Application.Kind
	if _, known := p.book.get(name); !known {
		// After a restart, the instances are followed first.
		problem, parsed := p.problem, p.parsed
		// They follow what was accepted until this is.
		p.problem, p.parsed = "its instances are not known yet", nil
		err := p.follow(ctx)
		p.parsed = parsed
		if err != nil || p.again > 0 {
			p.again = establishing
			return p.problem
		}
		p.problem = problem
	}
	number := p.count(name)
	if number == 0 {
		return ""
	}
	was := [2]string{p.live.Annotations[appv1.AnnotationBackend], p.live.Annotations[appv1.AnnotationPrefix]}
	if is := [2]string{string(p.parsed.Backend), p.parsed.Prefix}; was != is {
		return fmt.Sprintf("the backend cannot change from %s with prefix %q to %s with prefix %q while there are instances: %s. Delete them first, or write another definition",
			was[0], was[1], is[0], is[1], list(p.names(name, named), number))
	}
	var texts []string
	p.instances.Each(groupKind(name), func(m *metav1.PartialObjectMetadata, look any) {
		if problem := p.misfit(look); problem != "" && m.DeletionTimestamp == nil {
			texts = append(texts, fmt.Sprintf("%s/%s (%s)", m.Namespace, m.Name, problem))
		}
	})
	if len(texts) == 0 {
		return ""
	}
	slices.Sort(texts)
	return fmt.Sprintf("the schema does not fit instances that exist: %s. Change them first, or let the schema accept them", list(texts[:min(len(texts), named)], len(texts)))
}

// misfit says why an instance does not fit the schema of the definition; empty if it does.
func (p *defining) misfit(look any) string {
	s, ok := look.(*sight)
	if !ok {
		return ""
	}
	var spec map[string]any
	if err := utiljson.Unmarshal(s.spec, &spec); err != nil {
		return "its spec is not an object"
	}
	filled := p.parsed.Schema.Default(spec)
	if found := p.parsed.Schema.Validate(filled); len(found) > 0 {
		return shorten.Line(found[0].String())
	}
	if dropped := p.parsed.Schema.Dropped(spec); len(dropped) > 0 {
		return "it has " + dropped[0] + ", which the schema lacks"
	}
	return ""
}

func list(names []string, of int) string {
	text := strings.Join(names, ", ")
	if of > len(names) {
		text += fmt.Sprintf(" and %d more", of-len(names))
	}
	return text
}

// record writes the status of the definition.
func (p *defining) record(ctx context.Context) error {
	s, name := &p.obj.Status, p.obj.Spec.Application.Kind
	s.ObservedGeneration = p.obj.Generation
	if k, ok := p.book.get(name); ok && k.definition == p.obj.Name {
		s.Backend, s.Instances = k.backend, int32(p.count(name)) //nolint:gosec // memory has fewer
		if k.wave == nil && p.live != nil {
			s.Rollout = settled(revisions.Read(p.live.Annotations).State, s.Rollout, s.Instances)
		}
	} else if p.parsed != nil {
		s.Backend = p.parsed.Backend
	}
	ready, reason, message, stalled := p.standing()
	message = shorten.Fit(message, maxMessage)
	conditions.Set(p.obj, appv1.ConditionReady, ready, reason, message)
	if stalled {
		conditions.Set(p.obj, appv1.ConditionStalled, metav1.ConditionTrue, reason, message)
	} else {
		conditions.Remove(p.obj, appv1.ConditionStalled)
	}
	if was := conditions.Of(p.before, appv1.ConditionReady); was.Status != ready || was.Reason != reason {
		severity := "Normal"
		if stalled {
			severity = "Warning"
		}
		reconciling.Event(p.Events, p.obj, severity, reason, "Serve", message)
	}
	if err := reconciling.PatchStatus(ctx, p.Client, p.before, p.obj); err != nil {
		return fmt.Errorf("write the status of definition %s: %w", p.obj.Name, err)
	}
	return nil
}

// standing is the condition Ready of the definition.
func (p *defining) standing() (ready metav1.ConditionStatus, reason, message string, stalled bool) {
	name := p.obj.Spec.Application.Kind
	switch number := p.count(name); {
	case !p.obj.DeletionTimestamp.IsZero() && number > 0:
		return metav1.ConditionFalse, appv1.ReasonInUse, fmt.Sprintf("The definition is kept until its instances are deleted: %s", list(p.names(name, named), number)), true
	case p.problem != "":
		return metav1.ConditionFalse, p.reason, sentence(p.problem), !p.waits
	case p.live != nil && refusedNames(p.live) != "":
		return metav1.ConditionFalse, appv1.ReasonRefused, "The API does not accept the names of the kind: " + refusedNames(p.live), true
	case p.live == nil || !established(p.live) || p.again == establishing:
		p.again = establishing
		return metav1.ConditionUnknown, appv1.ReasonEstablishing, "The API begins to serve the kind", false
	}
	return metav1.ConditionTrue, appv1.ReasonServed, fmt.Sprintf("The API serves the kind: yuba kubectl get %s", p.obj.Spec.Application.Plural), false
}

// sentence begins with a capital letter.
func sentence(text string) string {
	if text == "" {
		return text
	}
	return strings.ToUpper(text[:1]) + text[1:]
}
