// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	"github.com/fluxcd/pkg/apis/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/kit/expression"
)

// evaluator computes an object's status from expressions, as Flux's does, but with limited cost.
type evaluator struct {
	steps []evaluatorStep
}

type evaluatorStep struct {
	expression *expression.Expression
	status     status.Status
}

// evaluators compiles the health expressions of a Kustomization, by kind.
func evaluators(obj *kustomizev1.Kustomization) (map[string]*evaluator, error) {
	out := map[string]*evaluator{}
	for i := range obj.Spec.HealthCheckExprs {
		e := &obj.Spec.HealthCheckExprs[i]
		compiled, err := newEvaluator(&e.HealthCheckExpressions)
		if err != nil {
			return nil, fmt.Errorf("failed to create status evaluator for custom resource %s %s: healthCheckExprs[%d]: %w", e.APIVersion, e.Kind, i, err)
		}
		out[e.APIVersion+" "+e.Kind] = compiled
	}
	return out, nil
}

func newEvaluator(texts *kustomize.HealthCheckExpressions) (*evaluator, error) {
	if texts.Current == "" {
		return nil, errors.New("expression Current not specified")
	}
	e := &evaluator{}
	for _, one := range []struct {
		name, text string
		status     status.Status
	}{
		{"InProgress", texts.InProgress, status.InProgressStatus},
		{"Failed", texts.Failed, status.FailedStatus},
		{"Current", texts.Current, status.CurrentStatus},
	} {
		if one.text == "" {
			continue
		}
		compiled, err := expression.Parse(one.text)
		if err != nil {
			return nil, fmt.Errorf("failed to parse the expression %s: %w", one.name, err)
		}
		e.steps = append(e.steps, evaluatorStep{compiled, one.status})
	}
	return e, nil
}

// evaluate returns the status of the first true expression. An object whose controller has not
// observed its last change is in progress.
func (e *evaluator) evaluate(ctx context.Context, u *unstructured.Unstructured) (*status.Result, error) {
	observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if err == nil && found {
		generation, found, err := unstructured.NestedInt64(u.Object, "metadata", "generation")
		if err == nil && found && observed != generation {
			return &status.Result{Status: status.InProgressStatus}, nil
		}
	}
	for _, step := range e.steps {
		holds, err := step.expression.Bool(ctx, u.Object)
		if err != nil {
			return nil, err
		}
		if holds {
			return &status.Result{Status: step.status}, nil
		}
	}
	return &status.Result{Status: status.InProgressStatus}, nil
}
