// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package steps

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/cli/move/decide"
)

// gatherBreakers reads the open CircuitBreakers of the source: they do not move.
func (m *Mover) gatherBreakers(ctx context.Context, g *gathered) error {
	if m.From.files != nil {
		return nil
	}
	here, err := m.From.breakers(ctx)
	if err != nil || len(here) == 0 {
		return err
	}
	there, err := m.To.breakers(ctx)
	if err != nil {
		return err
	}
	for _, b := range here {
		b.AtTarget = slices.ContainsFunc(there, func(o decide.Breaker) bool { return o.Name == b.Name })
		g.facts.Breakers = append(g.facts.Breakers, b)
	}
	return nil
}

// breakers lists the open ones of a home.
func (s *Side) breakers(ctx context.Context) (open []decide.Breaker, err error) {
	list, err := s.objects.Resource(yubav1.GroupVersion.WithResource("circuitbreakers")).List(ctx, metav1.ListOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("list the CircuitBreakers of %s: %w", s.Name, err)
	}
	for i := range list.Items {
		var b yubav1.CircuitBreaker
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(list.Items[i].Object, &b); err != nil {
			return nil, fmt.Errorf("read CircuitBreaker %s at %s: %w", list.Items[i].GetName(), s.Name, err)
		}
		if isOpen(&b) {
			open = append(open, decide.Breaker{Name: b.Name, Namespaces: coveredBy(&b)})
		}
	}
	return open, nil
}

func isOpen(b *yubav1.CircuitBreaker) bool {
	switch {
	case b.Spec.Mode == yubav1.ModeOpen:
		return true
	case b.Spec.Mode == yubav1.ModeClosed:
		return false
	}
	return b.Status.State == yubav1.StateOpen || b.Status.State == yubav1.StateHalfOpen
}

// coveredBy are the namespaces that an open CircuitBreaker covers; empty for all.
func coveredBy(b *yubav1.CircuitBreaker) []string {
	if b.Spec.Mode == yubav1.ModeOpen {
		return b.Spec.Namespaces
	}
	return b.Status.Namespaces
}
