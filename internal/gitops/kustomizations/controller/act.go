// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/build"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/decide"
	"github.com/yuba-dev/yuba/internal/gitops/kustomizations/diff"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/objects/engine"
	"github.com/yuba-dev/yuba/internal/objects/inventory"
)

const (
	// reasonOwnershipConflict: the build contains objects of other Kustomizations.
	reasonOwnershipConflict = "OwnershipConflict"
	// reasonLeftAlone: the build contains the server's own objects. The API shows one text per
	// reason, so the event has its own.
	reasonLeftAlone = "LeftAlone"
)

// failure is a failed attempt for the status.
type failure struct {
	reason string
	err    error
	// lasting is true if retrying is useless without a change.
	lasting bool
}

func (f *failure) Error() string { return f.err.Error() }

func (f *failure) Unwrap() error { return f.err }

func failed(reason string, err error) error { return &failure{reason: reason, err: err} }

// try is one attempt.
type try struct {
	*pass
	decision decide.Decision
	cluster  *engine.Cluster
	memory   *memory
	digest   string
	// old is the previous inventory.
	old []engine.Ref
}

// attempt builds, applies and prunes, and returns the time of the next check.
func (r *Reconciler) attempt(ctx context.Context, p *pass, d decide.Decision) (time.Time, error) {
	r.book.takeFreed(p.owner)
	t := &try{pass: p, decision: d, old: inventoryOf(p.obj),
		memory: &memory{uid: p.obj.UID, key: p.facts.Applied.WantedKey, objects: map[engine.ID]engine.Applied{}, settled: settledOf(p.obj)}}
	if p.memory != nil {
		maps.Copy(t.memory.objects, p.memory.objects)
		t.memory.settled = p.memory.settled
		t.memory.health = p.memory.health
		t.memory.drifts, t.memory.drifted = p.memory.drifts, p.memory.drifted
	}
	if d.Reason == decide.ReasonDrift {
		t.memory.countDrift(p.now)
	}
	if tells(d) {
		setProgress(p.obj, fmt.Sprintf("Building manifests for revision %s with a timeout of %s", p.artifact.revision, p.obj.GetTimeout()))
	}
	p.obj.Status.LastAttemptedRevision = p.artifact.revision
	bounded, cancel := context.WithTimeout(ctx, p.obj.GetTimeout())
	defer cancel()
	err := r.carryOut(bounded, t)
	var f *failure
	switch {
	case errors.As(err, &busyError{}):
		// Nothing was attempted.
		p.obj.Status = *p.before.Status.DeepCopy()
		if p.facts.Applied.Freed {
			r.book.markFreed(p.owner)
		}
		return time.Time{}, nil
	case ctx.Err() != nil:
		return time.Time{}, ctx.Err()
	case err == nil:
	case errors.As(err, &f):
		t.memory.failed, t.memory.lasting = true, f.lasting
		f.err = errors.New(r.discreet(ctx, t.obj, f.Error()))
		r.tellFailure(t, f)
	default:
		return time.Time{}, err
	}
	answerRequest(p.obj)
	t.memory.at = r.Now()
	r.book.keep(p.owner, t.memory)
	return r.nextLook(ctx, p)
}

// tells reports whether the status shows an attempt's progress. Attempts that only restore the
// state do not change Ready, on which others depend.
func tells(d decide.Decision) bool {
	return d.Reason != decide.ReasonDrift && d.Reason != decide.ReasonRestarted && d.Reason != decide.ReasonIntervalOver
}

// nextLook decides again after the attempt, to get the time of the next check.
func (r *Reconciler) nextLook(ctx context.Context, p *pass) (time.Time, error) {
	after := &pass{obj: p.obj, owner: p.owner, now: r.Now(), artifact: p.artifact, memory: r.book.read(p.owner)}
	if err := r.gather(ctx, after); err != nil {
		return time.Time{}, err
	}
	d := decide.Decide(after.facts)
	if d.Verb == decide.VerbApply || d.Verb == decide.VerbCheckHealth {
		return r.Now(), nil
	}
	return d.NextCheck, nil
}

func (r *Reconciler) tellFailure(t *try, f *failure) {
	if f.lasting {
		setStalled(t.obj, f.reason, f.Error())
	} else {
		setFailed(t.obj, f.reason, f.Error())
	}
	r.recordHistory(t, f.reason)
}

func (r *Reconciler) recordHistory(t *try, reason string) {
	if t.digest == "" {
		return
	}
	about := map[string]string{"revision": t.artifact.revision}
	if t.artifact.origin != "" {
		about["originRevision"] = t.artifact.origin
	}
	if t.memory.settled >= 0 {
		about[historyObjects] = strconv.Itoa(t.memory.settled)
	}
	t.obj.Status.History.Upsert(t.digest, r.Now(), r.Now().Sub(t.now), reason, about)
}

// carryOut makes the attempt, in phases.
func (r *Reconciler) carryOut(ctx context.Context, t *try) error {
	// 1. Connect.
	cluster, done, err := r.cluster(ctx, t.pass)
	if errors.As(err, &busyError{}) {
		return err
	}
	if err != nil {
		return failed(meta.ReconciliationFailedReason, fmt.Errorf("failed to build kube client: %w", err))
	}
	defer done()
	t.cluster = cluster
	// 2. Build.
	objects, err := r.build(ctx, t)
	if err != nil {
		return err
	}
	// 3. Record the objects before they are applied, so that a crash leaves no orphans.
	planned := engine.RefsOf(objects)
	setInventory(t.obj, inventory.Union(planned, t.old))
	if tells(t.decision) || len(inventory.Without(planned, t.old)) > 0 {
		if err := r.patchStatus(ctx, t.pass); err != nil {
			return err
		}
	} else {
		t.obj.Status.Inventory = t.before.Status.Inventory.DeepCopy()
	}
	// 4. Apply.
	report, err := r.engine.Apply(ctx, cluster, engine.Request{Owner: t.owner, Objects: objects, Known: t.memory.objects,
		Full: t.decision.Full, Force: t.obj.Spec.Force, Ignore: diff.IgnoreRules(t.obj)})
	changes := report.Changed()
	if err != nil {
		t.remember(report, false)
		setInventory(t.obj, inventory.Union(report.Present(), t.old))
		return failed(meta.ReconciliationFailedReason, errors.New(strings.Join(append([]string{err.Error()},
			firstOf(changes, "objects created or configured")...), "\n")))
	}
	t.remember(report, true)
	r.tellLines(t.pass, changes)
	if names := report.Installed(); len(names) > 0 && tells(t.decision) {
		r.tell(t.pass, reasonLeftAlone, "not applied because they belong to the server itself: "+strings.Join(names, ", "))
	}
	// 5. Prune.
	if err := r.prune(ctx, t, report); err != nil {
		return err
	}
	if err := conflicts(report); err != nil {
		return err
	}
	// 6. Health.
	return r.startHealth(ctx, t, report)
}

// listed is the number of objects that a message names.
const listed = 5

// firstOf returns the first texts, and the number of others.
func firstOf(texts []string, what string) []string {
	more := len(texts) - listed
	if more <= 0 {
		return texts
	}
	return append(slices.Clone(texts[:listed]), strings.TrimSpace(fmt.Sprintf("and %d more %s", more, what)))
}

// build builds the objects of the artifact.
func (r *Reconciler) build(ctx context.Context, t *try) ([]*unstructured.Unstructured, error) {
	ok, err := r.Archives.HasArtifact(ctx, t.artifact.digest)
	if err == nil && !ok {
		err = errors.New("it is not in the store; the source must fetch it again")
	}
	if err != nil {
		return nil, failed(meta.ArtifactFailedReason, fmt.Errorf("Source is not ready, artifact %s not found: %w", t.artifact.digest, err)) //nolint:staticcheck // ST1005: Flux's words
	}
	tree, done, err := r.unpack(ctx, t.pass)
	if err != nil {
		return nil, failed(meta.ArtifactFailedReason, err)
	}
	defer done()
	result, err := r.Build(ctx, build.Input{Object: t.obj, Dir: tree, Values: build.FromAPI(r.Reader), Strict: true})
	if missing := (*build.PathError)(nil); errors.As(err, &missing) {
		return nil, failed(meta.ArtifactFailedReason, err)
	}
	if err != nil {
		return nil, failed(meta.BuildFailedReason, err)
	}
	if err := policy.Prepare(result.Objects, t.owner, t.cluster.Mapper); err != nil {
		return nil, failed(meta.BuildFailedReason, err)
	}
	t.digest = result.Digest
	return result.Objects, nil
}

// remember stores the applied objects; after a complete apply only these.
func (t *try) remember(report *engine.Report, whole bool) {
	if whole {
		t.memory.objects = make(map[engine.ID]engine.Applied, len(report.Outcomes))
	}
	for _, o := range report.Outcomes {
		t.memory.objects[o.ID] = o.Applied
	}
	for _, c := range report.Conflicts {
		delete(t.memory.objects, c.ID)
	}
}

// tellLines records an event about progress, if there are lines.
func (r *Reconciler) tellLines(p *pass, lines []string) {
	if len(lines) > 0 {
		r.tell(p, meta.ProgressingReason, strings.Join(lines, "\n"))
	}
}

// tell records an event about progress.
func (r *Reconciler) tell(p *pass, reason, message string) {
	reconciling.Event(r.Events, p.obj, corev1.EventTypeNormal, reason, "Reconcile", message)
}

// conflicts returns an error about objects of other Kustomizations.
func conflicts(report *engine.Report) error {
	if len(report.Conflicts) == 0 {
		return nil
	}
	var list []string
	for _, c := range report.Conflicts {
		list = append(list, fmt.Sprintf("%s belongs to Kustomization %s", engine.Name(c.ID), c.Holder))
	}
	return failed(reasonOwnershipConflict, fmt.Errorf("objects of other Kustomizations were not applied: %s. Remove each from one of the two; "+
		"it is adopted as soon as the other no longer contains it. To adopt an object at once, add the annotation "+
		"kustomize.toolkit.fluxcd.io/force: enabled to its manifest", strings.Join(firstOf(list, ""), ", ")))
}

// prune deletes the objects that the build no longer contains, and updates the inventory.
func (r *Reconciler) prune(ctx context.Context, t *try, report *engine.Report) error {
	now := make([]engine.Ref, 0, len(report.Outcomes))
	for _, o := range report.Outcomes {
		now = append(now, o.Ref)
	}
	stale := inventory.Without(t.old, now)
	keep := func(more []engine.Ref) {
		setInventory(t.obj, inventory.Union(now, more))
		t.cluster.Keep(t.owner, inventory.Union(now, more))
	}
	if !t.obj.Spec.Prune || len(stale) == 0 {
		keep(nil)
		t.memory.settled = len(now)
		return nil
	}
	// Failed attempts also add inventory entries. Ignore them, or the pruned share looks too small.
	before := len(t.old)
	if t.memory.settled >= 0 {
		before = min(before, t.memory.settled)
	}
	held := decide.HoldPrune(decide.Prune{Call: t.obj.Name + " -n " + t.obj.Namespace, Revision: t.artifact.revision,
		Confirmed: t.obj.Annotations[AnnotationConfirmPrune], Inventory: before, Stale: inventory.Names(stale)})
	if held != "" {
		keep(stale)
		return &failure{reason: decide.ReasonPruneHeld, err: errors.New(held), lasting: true}
	}
	removal, err := r.engine.Delete(ctx, t.cluster, t.owner, stale)
	keep(removal.Failed)
	r.tellLines(t.pass, deletedLines(removal))
	if err != nil {
		return failed(meta.PruneFailedReason, err)
	}
	t.memory.settled = len(now)
	return nil
}

func deletedLines(removal *engine.Removal) []string {
	var out []string
	for _, name := range inventory.Names(removal.Deleted) {
		out = append(out, name+" deleted")
	}
	return out
}

// startHealth begins the health check, or ends the attempt if there is nothing to check.
func (r *Reconciler) startHealth(ctx context.Context, t *try, report *engine.Report) error {
	h := health{targets: targetsOf(t.obj, report.Outcomes), looks: t.memory.health.looks, since: r.Now()}
	// An attempt that only restores the state continues the current check.
	if was := t.memory.health; was.waiting && !was.failed && !tells(t.decision) {
		h.since = was.since
	}
	if len(h.targets) == 0 {
		conditions.Remove(t.obj, meta.HealthyCondition)
		t.memory.health = health{}
		r.succeed(t)
		return nil
	}
	lives := map[engine.ID]*unstructured.Unstructured{}
	for _, o := range report.Outcomes {
		if o.Live != nil {
			lives[o.ID] = o.Live
		}
	}
	if err := r.examine(ctx, t.pass, t.cluster, &h, lives); err != nil {
		return failed(meta.HealthCheckFailedReason, err)
	}
	r.conclude(t, &h)
	t.memory.health = h
	return nil
}

// succeed records a success.
func (r *Reconciler) succeed(t *try) {
	if !isReady(t.obj) || t.obj.Status.LastAppliedRevision != t.artifact.revision || settledOf(t.obj) != t.memory.settled {
		r.recordHistory(t, meta.ReconciliationSucceededReason)
	}
	t.obj.Status.LastAppliedRevision, t.obj.Status.LastAppliedOriginRevision = t.artifact.revision, t.artifact.origin
	setReady(t.obj, t.artifact.revision)
}

// conclude writes the health of the objects to the status.
func (r *Reconciler) conclude(t *try, h *health) {
	names, some, stalled := h.unwell()
	took := r.Now().Sub(h.since)
	switch {
	case !some:
		if conditions.Of(t.obj, meta.HealthyCondition).Status != metav1.ConditionTrue {
			message := fmt.Sprintf("Health check passed in %s", took.Round(time.Millisecond))
			setCondition(t.obj, meta.HealthyCondition, metav1.ConditionTrue, meta.SucceededReason, message)
			r.tell(t.pass, meta.ProgressingReason, message)
		}
		h.waiting, h.failed = false, false
		r.succeed(t)
	case stalled, took >= t.obj.GetTimeout():
		what := "timeout waiting for: " + names
		if stalled {
			what = "failed early due to stalled resources: " + names
		}
		if !h.failed || stalled && !strings.HasSuffix(conditions.Of(t.obj, meta.HealthyCondition).Message, what) {
			what = fmt.Sprintf("health check failed after %s: %s", took.Round(time.Millisecond), what)
			setCondition(t.obj, meta.HealthyCondition, metav1.ConditionFalse, meta.HealthCheckFailedReason, what)
			setFailed(t.obj, meta.HealthCheckFailedReason, what)
			r.recordHistory(t, meta.HealthCheckFailedReason)
		}
		h.waiting, h.failed = true, true
	case h.failed:
		// The objects may recover later; until then, the failure stays.
	default:
		h.waiting = true
		message := fmt.Sprintf("Running health checks for revision %s with a timeout of %s: waiting for %s", t.artifact.revision, t.obj.GetTimeout(), names)
		setCondition(t.obj, meta.HealthyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
		if !isReady(t.obj) {
			setProgress(t.obj, message)
		}
		setCondition(t.obj, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	}
}

// recheck checks the health of the applied objects.
func (r *Reconciler) recheck(ctx context.Context, p *pass) (time.Time, error) {
	m := *p.memory
	t := &try{pass: p, memory: &m}
	if latest := p.obj.Status.History.Latest(); latest != nil {
		t.digest = latest.Digest
	}
	cluster, done, err := r.cluster(ctx, p)
	if errors.As(err, &busyError{}) {
		return time.Time{}, nil
	}
	h := m.health
	if !h.waiting {
		h.since = r.Now()
	}
	if err == nil {
		defer done()
		t.cluster = cluster
		err = r.examine(ctx, p, cluster, &h, nil)
	}
	if ctx.Err() != nil {
		return time.Time{}, ctx.Err()
	}
	if err != nil {
		h.looked, h.waiting, h.failed = r.Now(), true, true
		setFailed(p.obj, meta.HealthCheckFailedReason, err.Error())
		setCondition(p.obj, meta.HealthyCondition, metav1.ConditionFalse, meta.HealthCheckFailedReason, err.Error())
	} else {
		r.conclude(t, &h)
	}
	m.health = h
	r.book.keep(p.owner, &m)
	return r.nextLook(ctx, p)
}
