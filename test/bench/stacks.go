// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/testkit/kubetest"
)

const namespace = "bench"

// stacks measures stacks on one running Yuba.
type stacks struct {
	*bench
	yuba   *yuba
	client client.WithWatch
}

// measureStacks compares first applies and drift checks without drift with plain tofu.
func (b *bench) measureStacks(ctx context.Context) (err error) {
	y, err := b.start(ctx, b.directory("stacks"), "-v")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, y.stop()) }()
	s := &stacks{bench: b, yuba: y}
	if s.client, err = kubetest.Client(y.kubeconfig()); err != nil {
		return err
	}
	if err := s.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}); err != nil {
		return err
	}
	for _, resources := range b.sizes {
		if err := s.measureFirstApply(ctx, resources); err != nil {
			return err
		}
	}
	for _, resources := range b.sizes {
		if err := s.measurePasses(ctx, resources); err != nil {
			return err
		}
	}
	return nil
}

func newStack(name string, resources int) *infrav1.Terraform {
	return &infrav1.Terraform{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: infrav1.TerraformSpec{ApprovePlan: infrav1.ApprovePlanAuto, Interval: metav1.Duration{Duration: time.Hour},
			Inline: map[string]string{"main.tf": program(resources)}}}
}

// measureFirstApply measures the time from the API's response to the create until a watch shows
// Ready. One unmeasured round warms up both sides.
func (s *stacks) measureFirstApply(ctx context.Context, resources int) error {
	var c comparison
	for trial := range s.trials + 1 {
		name := fmt.Sprintf("first-%d-%d", resources, trial)
		h, err := s.byHand(name, resources)
		if err != nil {
			return err
		}
		handTook, err := h.firstApply(ctx)
		if err != nil {
			return err
		}
		before, err := s.yuba.cpu()
		if err != nil {
			return err
		}
		took, err := s.createAndAwait(ctx, newStack(name, resources))
		if err != nil {
			return err
		}
		after, err := s.yuba.cpu()
		if err != nil {
			return err
		}
		if trial == 0 {
			continue
		}
		c.yuba, c.byHand = append(c.yuba, took), append(c.byHand, handTook)
		c.yubaCPU, c.byHandCPU = c.yubaCPU+after-before, c.byHandCPU+h.cpu
	}
	s.results = append(s.results, c.result(fmt.Sprintf("first-apply-%d", resources),
		fmt.Sprintf("first apply, %d resources / init, plan -out, apply", resources)))
	return nil
}

// createAndAwait returns the time between the API's response and Ready.
func (s *stacks) createAndAwait(ctx context.Context, stack *infrav1.Terraform) (time.Duration, error) {
	return s.changeAndAwait(ctx, stack.Name, func() error { return s.client.Create(ctx, stack) }, func(t *infrav1.Terraform) bool {
		return apimeta.IsStatusConditionTrue(t.Status.Conditions, infrav1.ConditionReady)
	})
}

// changeAndAwait makes a change and returns the time between the API's response and the event of an
// existing watch that shows its effect.
func (s *stacks) changeAndAwait(ctx context.Context, name string, change func() error, done func(*infrav1.Terraform) bool) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	watcher, err := s.client.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(namespace), client.MatchingFields{"metadata.name": name})
	if err != nil {
		return 0, err
	}
	defer watcher.Stop()
	if err := change(); err != nil {
		return 0, err
	}
	began := time.Now()
	var last *infrav1.Terraform
	for event := range watcher.ResultChan() {
		if event.Type == watch.Error {
			return 0, fmt.Errorf("watch %s: %v", name, event.Object)
		}
		if t, ok := event.Object.(*infrav1.Terraform); ok {
			if last = t; done(t) {
				return time.Since(began), nil
			}
		}
	}
	if last == nil {
		return 0, fmt.Errorf("wait for %s: %w", name, ctx.Err())
	}
	return 0, fmt.Errorf("wait for %s: %w; its conditions: %v", name, ctx.Err(), last.Status.Conditions)
}
