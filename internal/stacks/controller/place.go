// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"encoding/json"
	"fmt"
	"slices"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// placeOf describes the Pods that may execute a run of the stack; nil where runs are not Pods.
func placeOf(rules reads.Rules, obj *infrav1.Terraform, id string) (*run.Place, error) {
	if !rules.Pods {
		return nil, nil
	}
	p := &run.Place{Namespace: obj.Namespace, ServiceAccount: obj.RunnerServiceAccount(), Grace: run.Duration(obj.GetGracePeriod())}
	for _, i := range obj.Spec.IdentityTokens {
		if !slices.Contains(p.Audiences, i.Audience) {
			p.Audiences = append(p.Audiences, i.Audience)
		}
	}
	slices.Sort(p.Audiences)
	if obj.Spec.DedicatedRunnerPod {
		p.Alone = id
	}
	if obj.Spec.RunnerPodTemplate == nil {
		return p, nil
	}
	template := obj.Spec.RunnerPodTemplate.DeepCopy()
	// Their values are the run's, and stacks with different ones can share a Pod.
	template.Spec.Env, template.Spec.EnvFrom = nil, nil
	var err error
	if p.Template, err = json.Marshal(template); err != nil {
		return nil, fmt.Errorf("describe the runner Pod of %s: %w", p.Namespace, err)
	}
	return p, nil
}
