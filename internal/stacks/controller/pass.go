// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/speculative"
	"github.com/yuba-dev/yuba/internal/stacks/decide"
	"github.com/yuba-dev/yuba/internal/stacks/health"
	"github.com/yuba-dev/yuba/internal/stacks/reads"
)

// Each stage of a pass is a type that embeds the previous one, so the compiler enforces the order:
//	pass -collect-> collected -hold-> held -gather-> gathered -decide-> decided -act-> acted
//	  -record-> recorded -begin->

// pass is one reconcile of a stack.
type pass struct {
	// obj has the new status; before is the object as read from the API.
	obj, before *infrav1.Terraform
	stack       run.Stack
	now         time.Time
	rules       reads.Rules
	// notices are warnings about versions that the stack uses.
	notices []string
	// notes are events besides those of conditions.
	notes []note
}

func (r *Reconciler) pass(obj *infrav1.Terraform) *pass {
	p := &pass{obj: obj, before: obj.DeepCopy(), stack: run.StackOf(obj), now: r.Now(), rules: r.Rules}
	if r.Notices != nil {
		p.notices = r.Notices(p.stack)
	}
	return p
}

// note is an event.
type note struct {
	warning                 bool
	reason, action, message string
}

// collected is a pass that has read the runs that ended.
type collected struct {
	pass
	// over is the ended run, taken its id; ended is the same run if it was recorded in the status.
	over, ended *run.Record
	taken       string
	// moved is true when a manual operation may have changed the state.
	moved bool
}

// held is a pass over a stack that has its finalizers.
type held struct {
	collected
	// dependants are the stacks that depend on this one.
	dependants []infrav1.Terraform
}

// gathered is a pass with all facts for a decision.
type gathered struct {
	held
	facts decide.Facts
	// config is nil if source or inputs are not usable.
	config *reads.Configuration
	// noState says why the stack cannot use the state that it names; may be nil.
	noState *reads.Problem
	// takeover is the deleted stack whose state this was; nil for none, or once adopted.
	takeover *infrav1.StateTakeover
	// inHand is the run in progress, if there is one.
	inHand *run.Record
	// failing is the last run if it failed.
	failing *run.Record
	// consumed is what the stack reads of contracts; nil if that is not known.
	consumed *Consumed
	// foreseen are planned outputs of producers, and needs those that are unknown, for a speculative
	// plan; else empty.
	foreseen map[string]map[string]json.RawMessage
	needs    []speculative.Need
	// dependencyOutputs are the outputs of the dependencies, as "name=digest".
	dependencyOutputs []string
}

// decided is a pass with its decision.
type decided struct {
	gathered
	decision decide.Decision
}

// acted is a pass that acted and is ready to write the status.
type acted struct {
	decided
	// run is the run to start; nil for none.
	run *run.Record
	// unlocked is true when this pass broke the lock.
	unlocked bool
	// inventoryKnown is true if this pass listed the resources, with a possible inventoryWarning.
	inventoryKnown   bool
	inventoryWarning string
	// lookAgain is when the health checks are due again; zero while they run.
	lookAgain time.Time
}

// recorded is a pass whose status is written.
type recorded struct{ acted }

// Each part of the controller lists the fields of the Reconciler that it uses; the stages connect
// them.

// runHistory reads the runs that ended, and the facts about runs.
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

// stateAccess decides which state a stack may use, and who owns it.
type stateAccess struct {
	reader client.Reader
	// cache may be nil.
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
	pinned func(ctx context.Context, namespace string) (run.Tool, error)
}

func runDraftsOf(r *Reconciler) runDrafts { return runDrafts{r.Runs, r.Limits, r.PinnedTool} }

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

// leftovers settles the possible leftovers of interrupted applies.
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

// policyJudge asks contracts and policies about plans.
type policyJudge struct {
	policies Policies
	book     contractBook
	runs     Runs
	source   *reads.Sources
	now      func() time.Time
}

func judgeOf(r *Reconciler) policyJudge {
	return policyJudge{r.Policies, contractsOf(r), r.Runs, r.Source, r.Now}
}
