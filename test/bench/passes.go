// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// driftInterval is short, so that drift checks come due quickly, and longer than one of them.
const driftInterval = 500 * time.Millisecond

// measurePasses compares drift checks without drift with tofu plan: scheduled ones, which write
// nothing to the API, and requested ones, which look for newer providers (init -upgrade) and report
// their end.
func (s *stacks) measurePasses(ctx context.Context, resources int) error {
	name := fmt.Sprintf("pass-%d", resources)
	stack := newStack(name, resources)
	if _, err := s.createAndAwait(ctx, stack); err != nil {
		return err
	}
	h, err := s.byHand(name, resources)
	if err != nil {
		return err
	}
	if _, err := h.firstApply(ctx); err != nil {
		return err
	}
	quiet, err := s.quietPasses(ctx, stack, h)
	if err != nil {
		return err
	}
	requested, err := s.requestedPasses(ctx, stack, h)
	if err != nil {
		return err
	}
	s.results = append(s.results,
		quiet.result(fmt.Sprintf("pass-%d", resources), fmt.Sprintf("drift check without drift, %d resources / plan", resources)),
		requested.result(fmt.Sprintf("requested-pass-%d", resources), fmt.Sprintf("requested reconciliation, %d resources / init -upgrade, plan", resources)))
	return nil
}

// quietPasses alternates between drift checks of Yuba and tofu plan.
func (s *stacks) quietPasses(ctx context.Context, stack *infrav1.Terraform, h *byHand) (*comparison, error) {
	if err := s.setDriftInterval(ctx, stack, driftInterval); err != nil {
		return nil, err
	}
	c := &comparison{}
	key := client.ObjectKeyFromObject(stack).String()
	if _, err := s.yuba.log.quietPasses(ctx, key, 1); err != nil {
		return nil, err
	}
	for trial := range s.trials {
		h.cpu = 0
		handTook, err := h.plan(ctx)
		if err != nil {
			return nil, err
		}
		before, err := s.yuba.cpu()
		if err != nil {
			return nil, err
		}
		took, err := s.yuba.log.quietPasses(ctx, key, trial+2)
		if err != nil {
			return nil, err
		}
		after, err := s.yuba.cpu()
		if err != nil {
			return nil, err
		}
		c.yuba, c.byHand = append(c.yuba, took[trial+1]), append(c.byHand, handTook)
		c.yubaCPU, c.byHandCPU = c.yubaCPU+after-before, c.byHandCPU+h.cpu
	}
	return c, s.setDriftInterval(ctx, stack, time.Hour)
}

func (s *stacks) setDriftInterval(ctx context.Context, stack *infrav1.Terraform, interval time.Duration) error {
	before := stack.DeepCopy()
	stack.Spec.DriftDetectionInterval = &metav1.Duration{Duration: interval}
	return s.client.Patch(ctx, stack, client.MergeFrom(before))
}

// requestedPasses requests reconciliations by annotation, as kubectl and Flux do, until a watch
// shows their end.
func (s *stacks) requestedPasses(ctx context.Context, stack *infrav1.Terraform, h *byHand) (*comparison, error) {
	c := &comparison{}
	for trial := range s.trials {
		h.cpu = 0
		began := time.Now()
		for _, args := range [][]string{{"init", "-upgrade"}, {"plan"}} {
			if err := h.run(ctx, args...); err != nil {
				return nil, err
			}
		}
		handTook := time.Since(began)
		before, err := s.yuba.cpu()
		if err != nil {
			return nil, err
		}
		request := fmt.Sprintf("%d at %s", trial, time.Now())
		took, err := s.changeAndAwait(ctx, stack.Name, func() error { return s.request(ctx, stack, request) }, func(t *infrav1.Terraform) bool {
			return t.Status.LastHandledReconcileAt == request && t.Status.CurrentRun == nil
		})
		if err != nil {
			return nil, err
		}
		after, err := s.yuba.cpu()
		if err != nil {
			return nil, err
		}
		c.yuba, c.byHand = append(c.yuba, took), append(c.byHand, handTook)
		c.yubaCPU, c.byHandCPU = c.yubaCPU+after-before, c.byHandCPU+h.cpu
	}
	return c, nil
}

func (s *stacks) request(ctx context.Context, stack *infrav1.Terraform, value string) error {
	before := stack.DeepCopy()
	metav1.SetMetaDataAnnotation(&stack.ObjectMeta, meta.ReconcileRequestAnnotation, value)
	return s.client.Patch(ctx, stack, client.MergeFrom(before))
}
