// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/outages/circuits"
	breakers "github.com/yuba-dev/yuba/internal/outages/controller"
	"github.com/yuba-dev/yuba/internal/runs/run"
	stacks "github.com/yuba-dev/yuba/internal/stacks/controller"
)

// addCircuits adds circuit breakers. Call it before adding the stack controller, whose first
// reconciliations must know which are open.
func (e *engine) addCircuits(ctx context.Context, direct client.Reader, r *stacks.Reconciler) error {
	served, err := serves(e.manager.GetRESTMapper(), yubav1.GroupVersion.WithKind(yubav1.CircuitBreakerKind))
	if err != nil {
		return err
	}
	if !served {
		e.opts.Log.Warn("this API does not serve the kind CircuitBreaker, so outages are not detected. " + installMissing)
		return nil
	}
	e.circuits = &breakers.Keeper{Client: e.manager.GetClient(), Reader: direct, Events: e.events, Options: e.opts.Circuits, Now: time.Now, Log: e.opts.Log,
		Wake: func(s circuits.Stack) { e.announce(run.Stack(s)) }}
	if err := e.circuits.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the circuit breakers: %w", err)
	}
	r.Circuits = e.circuits
	return nil
}
