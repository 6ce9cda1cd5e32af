// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/fluxcd/pkg/apis/meta"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

const (
	// annotationConfirmPrune names the revision for which a Kustomization may remove most of its objects.
	annotationConfirmPrune = "yuba.dev/confirm-prune"
	// reasonPruneHeld is the reason of a Kustomization that waits for that.
	reasonPruneHeld = "PruneHeld"
)

// reconcileFlags are those of "yuba reconcile source" and its like.
type reconcileFlags struct {
	wait, withSource, confirmPrune bool
	timeout                        time.Duration
}

// reconcilePatience is how long such a look may take unless it is said otherwise.
const reconcilePatience = 5 * time.Minute

func newReconcileKindCommand(a *app, k kind) *cobra.Command {
	var f reconcileFlags
	cmd := &cobra.Command{
		Use:     k.word + " NAME",
		Aliases: k.aliases(),
		Short:   "Reconcile " + k.one() + " now and wait for the result",
		Long: "Reconcile " + k.one() + ` now, whatever its interval, and wait for the result. The answer is its revision. When it fails,
its message and its latest events are shown.`,
		Example: "  " + k.call("reconcile", "infra") + "\n  " + k.call("reconcile", "team-a/infra") + " --timeout 1m -o json",
		Args:    arguments(1, 1), ValidArgsFunction: a.objectNames(k, false),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.wait, "wait", "w", true, "wait until it is done")
	flags.DurationVar(&f.timeout, "timeout", reconcilePatience, "how long to wait at most")
	if k.gvk == kustomizations.gvk {
		cmd.Example += "\n  " + k.call("reconcile", "apps") + " --with-source"
		flags.BoolVar(&f.withSource, "with-source", false, "look at its source before")
		flags.BoolVar(&f.confirmPrune, "confirm-prune", false, "let it remove the objects that it holds back, for this revision")
	}
	out := addOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.onObjects(k, out, func(ctx context.Context, s *session, keys []types.NamespacedName) error {
		ctx, cancel := withTimeout(ctx, f.timeout)
		defer cancel()
		return s.reconcile(ctx, k, keys[0], f, out)
	})
	return cmd
}

func (s *session) reconcile(ctx context.Context, k kind, key types.NamespacedName, f reconcileFlags, out *output) error {
	before, err := s.getObject(ctx, k, key)
	if err != nil {
		return err
	}
	annotations := map[string]any{}
	if f.confirmPrune {
		if annotations[annotationConfirmPrune], err = s.confirmedPrune(before); err != nil {
			return err
		}
	}
	if f.withSource {
		if err := s.reconcileSourceOf(ctx, before); err != nil {
			return err
		}
	}
	now, err := s.look(ctx, before, annotations, f.wait)
	switch {
	case err != nil:
		return err
	case out.form == "name":
		fmt.Fprintln(s.out, now.fullName())
	case out.machine():
		return out.print(s.out, now.Object)
	case !f.wait:
		s.news("Reconciliation of %s requested. Check with:\n    yuba get %s %s", now, k.plural, s.call(key))
	case now.revision() != "":
		fmt.Fprintln(s.out, now.revision())
	}
	return nil
}

// confirmedPrune is the revision whose removals somebody has just confirmed.
func (s *session) confirmedPrune(o *object) (string, error) {
	if ready := o.ready(); ready.Reason != reasonPruneHeld || o.Status.LastAttemptedRevision == "" {
		return "", exitf(exitError, "confirm what %s removes: it holds nothing back now. See how it stands:\n    yuba get kustomizations %s", o, s.call(o.key()))
	}
	return o.Status.LastAttemptedRevision, nil
}

// reconcileSourceOf looks at what a Kustomization is made from.
func (s *session) reconcileSourceOf(ctx context.Context, o *object) error {
	ref := o.Spec.SourceRef
	if ref == nil {
		return exitf(exitError, "reconcile the source of %s: it names none", o)
	}
	k, ok := kindNamed(ref.Kind)
	if !ok || !k.fetched {
		s.news("The source of %s is the %s %s, which is pushed and never fetched.", o, ref.Kind, ref.Name)
		return nil
	}
	source, err := s.getObject(ctx, k, o.sourceKey())
	if err != nil {
		return err
	}
	_, err = s.look(ctx, source, map[string]any{}, true)
	return err
}

// look asks for a look at an object at once, and waits for what comes of it.
func (s *session) look(ctx context.Context, o *object, annotations map[string]any, wait bool) (*object, error) {
	if o.Spec.Suspend {
		return nil, exitf(exitWaiting, "reconcile %s: it is suspended. Let it go on:\n    %s", o, o.kind.call("resume", s.call(o.key())))
	}
	l := &looking{session: s, request: newRequest(), begun: time.Now()}
	annotations[meta.ReconcileRequestAnnotation] = l.request
	changed, err := s.patchObject(ctx, "reconcile", o.kind, o.key(), change{}.annotate(annotations))
	if err != nil || !wait {
		return changed, err
	}
	l.generation = changed.GetGeneration()
	s.news("Looking at %s …", o)
	now, err := s.awaitObject(ctx, o.kind, o.key(), l.judge)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case err != nil && ctx.Err() != nil && l.told != "":
		return nil, exitf(exitWaiting, "reconcile %s: it takes longer than --timeout. Last it said: %s", o, l.told)
	case err != nil && ctx.Err() != nil:
		return nil, exitf(exitWaiting, "reconcile %s: nobody has looked at it within --timeout. Is its server running, and does it serve this kind?", o)
	case err != nil:
		return nil, err
	case now == nil:
		return nil, exitf(exitNotFound, "reconcile %s: it was deleted meanwhile", o)
	}
	return now, l.conclude(ctx, now)
}

// looking waits for one look at an object.
type looking struct {
	*session
	request    string
	generation int64
	begun      time.Time
	told       string
}

// judge says whether the look is over.
func (l *looking) judge(o *object) verdict {
	// Whoever asked after this look is waited for as well: that request took the place of this one.
	request := l.request
	if newer := o.GetAnnotations()[meta.ReconcileRequestAnnotation]; newer != "" {
		request = newer
	}
	ready := o.ready()
	switch {
	case o.Spec.Suspend:
		return done
	case o.Status.LastHandledReconcileAt == request && ready.Status != metav1.ConditionUnknown && ready.ObservedGeneration >= l.generation:
		return done
	}
	if working := o.condition(infrav1.ConditionReconciling); working.Status == metav1.ConditionTrue && working.Message != "" && working.Message != l.told {
		l.told = firstLine(diagnostic.Printable(working.Message), 300)
		l.news("%s", l.told)
	}
	return notYet
}

// conclude tells how a look ended.
func (l *looking) conclude(ctx context.Context, o *object) error {
	ready := o.ready()
	message := diagnostic.Printable(ready.Message)
	switch {
	case o.Spec.Suspend:
		return exitf(exitWaiting, "reconcile %s: it was suspended meanwhile", o)
	case ready.Status == metav1.ConditionTrue:
		l.news("%s is ready: %s", o, message)
		return nil
	case ready.Reason == meta.DependencyNotReadyReason:
		return exitf(exitWaiting, "reconcile %s: %s", o, message)
	case ready.Reason == reasonPruneHeld:
		return exitf(exitWaiting, "reconcile %s: %s\nOr:\n    %s --confirm-prune", o, message, o.kind.call("reconcile", l.call(o.key())))
	}
	return exitf(exitError, "reconcile %s: %s%s", o, message, l.whatElse(ctx, o, ready.Message))
}

// whatElse are the warnings about an object since the look began that say more than its condition.
func (l *looking) whatElse(ctx context.Context, o *object, said string) string {
	ctx, cancel := context.WithTimeout(ctx, serverPatience)
	defer cancel()
	events, err := l.events(ctx, o.GetNamespace(), o.kind.gvk.Kind, o.GetName())
	if err != nil {
		return ""
	}
	const most = 5
	var lines []string
	for i := len(events) - 1; i >= 0 && len(lines) < most; i-- {
		e := events[i]
		// The clocks of server and client need not agree to the second.
		if e.Type == "Warning" && e.Message != said && seenAt(e).After(l.begun.Add(-10*time.Second)) {
			lines = append(lines, fmt.Sprintf("    %s: %s", e.Reason, firstLine(diagnostic.Printable(e.Message), 300)))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\nEvents:\n" + strings.Join(lines, "\n")
}
