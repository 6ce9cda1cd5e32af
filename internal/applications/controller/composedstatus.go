// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	appv1 "github.com/yuba-dev/yuba/api/application/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// maxState limits the message of an object in the status.
const maxState = 300

func shortened(message string) string { return shorten.Cut(message, maxState) }

// describeComposed sets what the objects say.
func (p *pass) describeComposed(ctx context.Context, s *appv1.InstanceStatus) error {
	c := p.composed
	s.Resources, s.Plan, s.Definition = nil, nil, p.follows()
	for n, part := range c.parts {
		state := c.decided.States[n]
		s.Resources = append(s.Resources, appv1.InstanceResource{ID: c.facts.Parts[n].ID, APIVersion: part.gvk.GroupVersion().String(), Kind: part.gvk.Kind, Name: part.id.Name,
			State: orElse(state.State, appv1.PhaseProgressing), Message: shortened(state.Message)})
		if o := c.facts.Parts[n].Object; s.Plan == nil && o != nil && o.Awaits != "" {
			add, change, destroy := changesOf(part.stack)
			s.Plan = &appv1.InstancePlan{ID: o.Awaits, Summary: words(add, change, destroy), Add: add, Change: change, Destroy: destroy}
		}
	}
	if c.made == nil || c.instance == nil {
		return nil
	}
	outputs, problems := c.made.Outputs(ctx, c.instance, c.seen)
	return p.showComposed(s, outputs, problems)
}

// showComposed sets the outputs. Those of resources that are not ready now stay as they were.
func (p *pass) showComposed(s *appv1.InstanceStatus, outputs map[string]any, problems []string) error {
	before, size := s.Outputs, 0
	s.Outputs = nil
	for _, name := range p.composed.made.OutputNames() {
		var output apiextensionsv1.JSON
		value, known := outputs[name]
		switch {
		case known:
			raw, err := utiljson.Marshal(value)
			if err != nil {
				return fmt.Errorf("write the output %s of %s: %w", name, p.key, err)
			}
			output.Raw = raw
		case p.composed.decided.Phase != appv1.PhaseReady:
			output = before[name]
		}
		if output.Raw == nil {
			continue
		}
		if size += len(output.Raw); size > maxOutputs {
			problems = append(problems, fmt.Sprintf("output %s: all outputs together have more than %d bytes", name, maxOutputs))
			break
		}
		if s.Outputs == nil {
			s.Outputs = map[string]apiextensionsv1.JSON{}
		}
		s.Outputs[name] = output
	}
	if c := apimeta.FindStatusCondition(s.Conditions, appv1.ConditionReady); len(problems) > 0 && c != nil && p.composed.decided.Phase == appv1.PhaseReady {
		c.Message = shortened("The resources match the spec, but outputs are missing: " + problems[0])
	}
	return nil
}
