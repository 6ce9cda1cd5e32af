// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package healthcheck

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/fluxcd/cli-utils/pkg/kstatus/status"
	"github.com/fluxcd/pkg/apis/kustomize"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/yuba-dev/yuba/internal/kit/expression"
)

// timeout limits the expressions of an object, whose authors are not trusted.
const timeout = time.Second

// Checks are compiled checks, by kind. They are safe for concurrent use.
type Checks map[schema.GroupKind][]step

type step struct {
	expression *expression.Expression
	status     status.Status
}

// New compiles checks.
func New(list []kustomize.CustomHealthCheck) (Checks, error) {
	checks := Checks{}
	for i := range list {
		e := &list[i]
		gk := schema.FromAPIVersionAndKind(e.APIVersion, e.Kind).GroupKind()
		steps, err := compile(&e.HealthCheckExpressions)
		if _, again := checks[gk]; again && err == nil {
			err = errors.New("another check is for the same kind")
		}
		if err != nil {
			return nil, fmt.Errorf("failed to create status evaluator for custom resource %s %s: healthCheckExprs[%d]: %w", e.APIVersion, e.Kind, i, err)
		}
		checks[gk] = steps
	}
	return checks, nil
}

func compile(texts *kustomize.HealthCheckExpressions) (steps []step, err error) {
	if texts.Current == "" {
		return nil, errors.New("expression Current not specified")
	}
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
		steps = append(steps, step{compiled, one.status})
	}
	return steps, nil
}

// Has reports whether there is a check for a kind.
func (c Checks) Has(gk schema.GroupKind) bool { return len(c.of(gk)) > 0 }

func (c Checks) of(gk schema.GroupKind) []step {
	if steps, ok := c[gk]; ok {
		return steps
	}
	return c[schema.GroupKind{Group: gk.Group}]
}

// Status computes the status of an object whose kind has a check. An object whose controller has not
// observed its last change is in progress.
func (c Checks) Status(ctx context.Context, u *unstructured.Unstructured) (*status.Result, error) {
	observed, found, err := unstructured.NestedInt64(u.Object, "status", "observedGeneration")
	if err == nil && found {
		generation, found, err := unstructured.NestedInt64(u.Object, "metadata", "generation")
		if err == nil && found && observed != generation {
			return &status.Result{Status: status.InProgressStatus}, nil
		}
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	for _, s := range c.of(u.GroupVersionKind().GroupKind()) {
		holds, err := s.expression.Bool(ctx, u.Object)
		if err != nil {
			return nil, err
		}
		if holds {
			return &status.Result{Status: s.status}, nil
		}
	}
	return &status.Result{Status: status.InProgressStatus}, nil
}
