// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/applications/composition"
	"github.com/yuba-dev/yuba/internal/applications/decide"
	"github.com/yuba-dev/yuba/internal/applications/render"
	"github.com/yuba-dev/yuba/internal/kit/moving"
	"github.com/yuba-dev/yuba/internal/objects/owned"
	"github.com/yuba-dev/yuba/internal/objects/ready"
)

// releases are the kind of Helm releases.
var releases = render.HelmReleaseKind.GroupKind()

// want renders the objects that the instance should have, as far as those that they need are ready.
func (p *pass) want(ctx context.Context) error {
	c, i := p.composed, p.part.instance
	c.instance = &composition.Instance{Name: i.Name, Namespace: i.Namespace, Spec: specOf(p.kind.parsed, i)}
	if p.part.still {
		c.order(c.present())
	} else {
		included, err := c.made.Included(ctx, c.instance)
		if err != nil {
			c.facts.Invalid = sentence(err.Error())
		}
		c.order(included)
	}
	for n := range c.facts.Parts {
		if c.parts[n].resource == nil {
			break // the rest is left over
		}
		if err := p.wantPart(ctx, i, c.parts[n], &c.facts.Parts[n]); err != nil {
			return err
		}
	}
	return nil
}

// order puts the wanted objects first, each after those that it needs, and the others behind them.
func (c *composed) order(included map[string]bool) {
	left := c.parts
	c.parts = nil
	if c.made != nil {
		for _, r := range c.made.Resources {
			if !included[r.ID] {
				continue
			}
			id := c.idOf(r)
			at := slices.IndexFunc(left, func(part *component) bool { return part.id == id })
			part := &component{id: id, gvk: r.GVK}
			if at >= 0 {
				part = left[at]
				left = slices.Delete(slices.Clone(left), at, at+1)
			}
			part.resource, part.gvk = r, r.GVK
			c.parts = append(c.parts, part)
		}
	}
	slices.SortFunc(left, func(a, b *component) int { return compare(a.id, b.id) })
	c.parts = append(c.parts, left...)
	for _, part := range c.parts {
		fact := decide.Part{Name: part.gvk.Kind + " " + part.id.Name, Wanted: part.resource != nil, Needs: part.needs()}
		if part.resource != nil {
			fact.ID, fact.Needs = part.resource.ID, part.resource.Needs
		} else {
			fact.ID = part.live.Annotations[appv1.AnnotationResource]
		}
		if part.live != nil {
			fact.Object = part.facts(true)
		}
		c.facts.Parts = append(c.facts.Parts, fact)
	}
}

// idOf names the object of a resource.
func (c *composed) idOf(r *composition.Resource) owned.ID {
	return owned.ID{GroupKind: r.GVK.GroupKind(), Namespace: c.instance.Namespace, Name: r.Name(c.instance.Name)}
}

func compare(a, b owned.ID) int {
	switch x, y := owned.Name(a), owned.Name(b); {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

// facts are what an object says.
func (c *component) facts(current bool) *decide.Object {
	if c.stack != nil {
		o := stackFacts(c.stack, current)
		if o.Awaits != "" {
			o.Awaits = partPlan(c.live.Annotations[appv1.AnnotationResource], o.Awaits)
		}
		return o
	}
	r := ready.Of(c.content, false)
	o := &decide.Object{Current: current, Deleting: c.live.DeletionTimestamp != nil, Destroys: !c.spared, Observed: r.Reason != ready.ReasonNotObserved, Applied: true, Ready: "Unknown", Message: r.Message}
	switch {
	case r.Ready:
		o.Ready = string(metav1.ConditionTrue)
	case r.Failed:
		o.Stuck = r.Message
	case c.failed():
		o.Ready = string(metav1.ConditionFalse)
	}
	return o
}

// failed reports whether the object's condition Ready says so, and it does not wait for something.
func (c *component) failed() bool {
	list, _, _ := unstructured.NestedSlice(c.content.Object, "status", "conditions")     //nolint:errcheck // what is not a list is none
	phase, _, _ := unstructured.NestedString(c.content.Object, "status", "phase")        //nolint:errcheck // what is not a text is none
	instance := c.gvk.Group == appv1.InstanceVersion.Group && phase != appv1.PhaseFailed // it may just wait
	return !instance && slices.ContainsFunc(list, func(one any) bool {
		m, _ := one.(map[string]any)
		return m["type"] == appv1.ConditionReady && m["status"] == string(metav1.ConditionFalse)
	})
}

// partPlan is a plan's id as users see it: several stacks may have a plan with the same id.
func partPlan(id, plan string) string { return id + "/" + plan }

// wantPart completes the facts about a wanted object.
func (p *pass) wantPart(ctx context.Context, i *render.Instance, part *component, fact *decide.Part) error {
	c, r := p.composed, part.resource
	if part.live == nil {
		if err := p.findRival(ctx, part, fact); err != nil {
			return err
		}
	}
	if part.live != nil {
		fact.Missing = moving.Held(part.live) // "yuba move" has it
	}
	if r.IsInstance() {
		if _, served := p.book.get(r.GVK.Kind); !served {
			fact.Missing, p.again = unserved(r.GVK.Kind), missingAgain
		}
	}
	if !p.part.still && !slices.ContainsFunc(r.Needs, func(id string) bool { _, ok := c.seen[id]; return !ok }) {
		if err := p.renderPart(ctx, i, part); err != nil {
			var refused *render.NotAllowedError
			if errors.As(err, &refused) {
				c.facts.Refused = sentence(refused.Says)
			} else {
				fact.Invalid = sentence(err.Error())
			}
		} else if part.live != nil {
			fact.Object = part.facts(p.pieceAsLeft(part) && !p.unstamped(part))
		}
	}
	if part.live == nil {
		return nil
	}
	seen, err := p.see(ctx, part)
	if err != nil {
		return err
	}
	if r.Gated() {
		fact.Gate = &decide.Gate{}
		fact.Gate.Open, fact.Gate.Why = r.Ready(ctx, seen)
	}
	if fact.Ready() {
		c.seen[r.ID] = seen
	}
	return nil
}

// findRival finds out whether somebody else has the name of a stack. Other kinds tell when they are
// written.
func (p *pass) findRival(ctx context.Context, part *component, fact *decide.Part) error {
	if !part.resource.IsStack() {
		return nil
	}
	stack := &infrav1.Terraform{}
	err := p.Client.Get(ctx, client.ObjectKey{Namespace: part.id.Namespace, Name: part.id.Name}, stack, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", owned.Name(part.id), err)
	}
	wanted := &metav1.ObjectMeta{Labels: map[string]string{appv1.LabelKind: p.key.Kind, appv1.LabelGroup: appv1.InstanceVersion.Group, appv1.LabelName: p.key.Name}}
	if r := (ownership{p.meta.UID}).Rival(stack, wanted, false); r.Name != "" && !(ownership{p.meta.UID}).mine(stack) {
		fact.Holder = fmt.Sprintf("%s %s belongs to %s. Choose another name for the instance", part.gvk.Kind, part.id.Name, r.Name)
	}
	return nil
}

func (p *pass) renderPart(ctx context.Context, i *render.Instance, part *component) error {
	u, err := part.resource.Object(ctx, p.composed.instance, p.composed.seen)
	if err != nil {
		return err
	}
	if err := render.Composed(p.kind.parsed, i, part.resource, u); err != nil {
		return err
	}
	part.manifest = u
	part.digest, err = seal(u)
	return err
}

// see is what expressions read of an object.
func (p *pass) see(ctx context.Context, part *component) (composition.Seen, error) {
	s := composition.Seen{Name: part.id.Name, OutputsSecret: part.resource.OutputsSecret(p.key.Name)}
	s.Status, _ = part.content.Object["status"].(map[string]any)
	if part.resource.IsInstance() {
		s.Outputs, _ = s.Status["outputs"].(map[string]any)
	}
	if part.stack == nil || s.OutputsSecret == "" || part.stack.Status.OutputsSecret == "" {
		return s, nil
	}
	outputs, err := p.partOutputs(ctx, part)
	s.Outputs = outputs
	return s, err
}

// partOutputs are the outputs of a stack that are not sensitive. The Secret is read when the stack says
// that it has changed.
func (p *pass) partOutputs(ctx context.Context, part *component) (map[string]any, error) {
	t := part.stack
	digest := t.Status.OutputsDigest + " " + t.Status.OpenOutputsDigest
	if m := p.memory.get(p.key).pieces[part.id]; m.outputsDigest == digest {
		return m.outputs, nil
	}
	secret := &corev1.Secret{}
	err := p.Reader.Get(ctx, client.ObjectKey{Namespace: t.Namespace, Name: t.Status.OutputsSecret}, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the outputs of %s: %w", owned.Name(part.id), err)
	}
	open, ok := openOutputs(t, secret)
	if !ok {
		p.again = behind * 10 // the Secret, or what memory has of the stack, is older
		return nil, nil
	}
	outputs := map[string]any{}
	for name, value := range open {
		var v any
		if utiljson.Unmarshal(value.Raw, &v) == nil {
			outputs[name] = v
		}
	}
	p.memory.change(p.key, func(m *memo) { m.setOutputs(part, digest, outputs) })
	return outputs, nil
}
