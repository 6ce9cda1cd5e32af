// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/stacks/health"
)

// The parts of the controller. Each says what of the Reconciler it uses; the stages of a pass connect them.

// runHistory takes over runs that ended, and reads the facts about runs.
type runHistory struct {
	runs   Runs
	states States
	log    *slog.Logger
}

func runHistoryOf(r *Reconciler) runHistory { return runHistory{r.Runs, r.States, r.Log} }

// relatives finds the stacks that depend on each other or share a state.
type relatives struct {
	stacks         client.Reader
	crossNamespace bool
	log            *slog.Logger
}

func relativesOf(r *Reconciler) relatives {
	return relatives{r.stacks, r.Rules.AllowCrossNamespace, r.Log}
}

// stateAccess decides which state a stack may use, and whose it is.
type stateAccess struct {
	reader client.Reader
	// cache is nil where there is none.
	cache  client.Reader
	states States
	log    *slog.Logger
}

func stateAccessOf(r *Reconciler) stateAccess {
	return stateAccess{r.Reader, r.stacks, r.States, r.Log}
}

// stateLocks reads and breaks the locks of states.
type stateLocks struct {
	runs   Runs
	states States
}

func stateLocksOf(r *Reconciler) stateLocks { return stateLocks{r.Runs, r.States} }

// outages connects stacks with the circuit breakers.
type outages struct {
	circuits Circuits
	runs     Runs
}

func outagesOf(r *Reconciler) outages { return outages{r.Circuits, r.Runs} }

// runDrafts describes the runs to start.
type runDrafts struct {
	runs   Runs
	limits run.Limits
}

func runDraftsOf(r *Reconciler) runDrafts { return runDrafts{r.Runs, r.Limits} }

// outputsWriter reads the outputs of stacks and writes them into Secrets.
type outputsWriter struct {
	client      client.Client
	reader      client.Reader
	runs        Runs
	states      States
	patchStatus func(ctx context.Context, obj, before *infrav1.Terraform) error
}

func outputsWriterOf(r *Reconciler) outputsWriter {
	return outputsWriter{r.Client, r.Reader, r.Runs, r.States, r.patchStatus}
}

// leftovers settles what interrupted applies may have left.
type leftovers struct {
	runs   Runs
	states States
}

func leftoversOf(r *Reconciler) leftovers { return leftovers{r.Runs, r.States} }

// healthChecks runs the health checks of stacks.
type healthChecks struct {
	book    *health.Book
	outputs outputsWriter
	now     func() time.Time
}

func healthChecksOf(r *Reconciler) healthChecks {
	return healthChecks{&r.health, outputsWriterOf(r), r.Now}
}
