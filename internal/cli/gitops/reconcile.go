// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package gitops

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
	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

const (
	// annotationConfirmPrune confirms the held pruning of a Kustomization for a revision.
	annotationConfirmPrune = "yuba.dev/confirm-prune"
	// reasonPruneHeld is the reason of a Kustomization whose pruning is held.
	reasonPruneHeld = "PruneHeld"
)

// reconcileFlags are the flags of "yuba reconcile source" and of other kinds.
type reconcileFlags struct {
	wait, withSource, confirmPrune bool
}

func newReconcileKindCommand(a *session.App, k session.Kind) *cobra.Command {
	var f reconcileFlags
	cmd := &cobra.Command{
		Use:     k.Word + " NAME",
		Aliases: k.Aliases(),
		Short:   "Reconcile " + k.One() + " now and wait for the result",
		Long: "Reconcile " + k.One() + ` now, whatever its interval, and wait for the result. The answer is its revision. When it fails,
its message and its latest events are shown.`,
		Example: "  " + k.Call("reconcile", "infra") + "\n  " + k.Call("reconcile", "team-a/infra") + " --timeout 1m -o json",
		Args:    ui.Arguments(1, 1), ValidArgsFunction: a.ObjectNames(k, false),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&f.wait, "wait", "w", true, "wait for the result")
	ui.AddTimeoutFlag(cmd, 5*time.Minute, "maximum time to wait")
	if k.GVK == session.Kustomizations.GVK {
		cmd.Example += "\n  " + k.Call("reconcile", "apps") + " --with-source"
		flags.BoolVar(&f.withSource, "with-source", false, "reconcile its source first")
		flags.BoolVar(&f.confirmPrune, "confirm-prune", false, "confirm the held pruning, for this revision")
	}
	out := ui.AddOutputFlag(cmd, "json", "yaml", "name")
	cmd.RunE = a.OnObjects(k, func(ctx context.Context, s *session.Session, keys []types.NamespacedName) error {
		return reconcile(ctx, s, k, keys[0], f, out)
	})
	return cmd
}

func reconcile(ctx context.Context, s *session.Session, k session.Kind, key types.NamespacedName, f reconcileFlags, out *ui.Output) error {
	before, err := s.GetObject(ctx, k, key)
	if err != nil {
		return err
	}
	annotations := map[string]any{}
	if f.confirmPrune {
		if annotations[annotationConfirmPrune], err = confirmedPrune(s, before); err != nil {
			return err
		}
	}
	if f.withSource {
		if err := reconcileSourceOf(ctx, s, before); err != nil {
			return err
		}
	}
	now, err := request(ctx, s, before, annotations, f.wait)
	switch {
	case err != nil:
		return err
	case out.Form == "name":
		fmt.Fprintln(s.Out, now.FullName())
	case out.Machine():
		return out.Print(s.Out, now.Object)
	case !f.wait:
		s.News("Reconciliation of %s requested. Check with:\n    yuba get %s %s", now, k.Plural, s.Call(key))
	case now.Revision() != "":
		fmt.Fprintln(s.Out, now.Revision())
	}
	return nil
}

// confirmedPrune is the revision whose pruning is held.
func confirmedPrune(s *session.Session, o *session.Object) (string, error) {
	if ready := o.Ready(); ready.Reason != reasonPruneHeld || o.Status.LastAttemptedRevision == "" {
		return "", ui.Exitf(ui.ExitFailure, "confirm the pruning of %s: no pruning is held. Check its status:\n    yuba get kustomizations %s", o, s.Call(o.Key()))
	}
	return o.Status.LastAttemptedRevision, nil
}

func reconcileSourceOf(ctx context.Context, s *session.Session, o *session.Object) error {
	ref := o.Spec.SourceRef
	if ref == nil {
		return ui.Exitf(ui.ExitFailure, "reconcile the source of %s: it names none", o)
	}
	k, ok := session.KindNamed(ref.Kind)
	if !ok || !k.Fetched {
		s.News("The source of %s is the %s %s, which is pushed, not fetched.", o, ref.Kind, ref.Name)
		return nil
	}
	source, err := s.GetObject(ctx, k, o.SourceKey())
	if err != nil {
		return err
	}
	_, err = request(ctx, s, source, map[string]any{}, true)
	return err
}

// request starts a reconciliation of an object, and waits for the result if it should.
func request(ctx context.Context, s *session.Session, o *session.Object, annotations map[string]any, wait bool) (*session.Object, error) {
	if o.Spec.Suspend {
		return nil, ui.Exitf(ui.ExitWaiting, "reconcile %s: it is suspended. Resume it:\n    %s", o, o.Kind.Call("resume", s.Call(o.Key())))
	}
	r := &reconciliation{Session: s, request: session.NewRequest(), begun: time.Now()}
	annotations[meta.ReconcileRequestAnnotation] = r.request
	changed, err := s.PatchObject(ctx, "reconcile", o.Kind, o.Key(), session.Change{}.Annotate(annotations))
	if err != nil || !wait {
		return changed, err
	}
	r.generation = changed.GetGeneration()
	s.News("Reconciling %s …", o)
	now, err := s.AwaitObject(ctx, o.Kind, o.Key(), r.judge)
	switch {
	case err != nil && errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case err != nil && ctx.Err() != nil && r.told != "":
		return nil, ui.Exitf(ui.ExitWaiting, "reconcile %s: timed out (--timeout). Last message: %s", o, r.told)
	case err != nil && ctx.Err() != nil:
		return nil, ui.Exitf(ui.ExitWaiting, "reconcile %s: no server reconciled it within --timeout. Is its server running, and does it serve this kind?", o)
	case err != nil:
		return nil, err
	case now == nil:
		return nil, ui.Exitf(ui.ExitNotFound, "reconcile %s: it was deleted meanwhile", o)
	}
	return now, r.conclude(ctx, now)
}

type reconciliation struct {
	*session.Session
	request    string
	generation int64
	begun      time.Time
	told       string
}

func (r *reconciliation) judge(o *session.Object) bool {
	// A later request replaces ours, so wait for that one.
	request := r.request
	if newer := o.GetAnnotations()[meta.ReconcileRequestAnnotation]; newer != "" {
		request = newer
	}
	ready := o.Ready()
	handled := o.Status.LastHandledReconcileAt == request && ready.Status != metav1.ConditionUnknown && ready.ObservedGeneration >= r.generation
	if o.Spec.Suspend || handled {
		return true
	}
	if working := o.Condition(infrav1.ConditionReconciling); working.Status == metav1.ConditionTrue && working.Message != "" && working.Message != r.told {
		r.told = ui.FirstLine(diagnostic.Printable(working.Message), 300)
		r.News("%s", r.told)
	}
	return false
}

func (r *reconciliation) conclude(ctx context.Context, o *session.Object) error {
	ready := o.Ready()
	message := diagnostic.Printable(ready.Message)
	switch {
	case o.Spec.Suspend:
		return ui.Exitf(ui.ExitWaiting, "reconcile %s: it was suspended meanwhile", o)
	case ready.Status == metav1.ConditionTrue:
		r.News("%s is ready: %s", o, message)
		return nil
	case ready.Reason == meta.DependencyNotReadyReason:
		return ui.Exitf(ui.ExitWaiting, "reconcile %s: %s", o, message)
	case ready.Reason == reasonPruneHeld:
		return ui.Exitf(ui.ExitWaiting, "reconcile %s: %s\nOr:\n    %s --confirm-prune", o, message, o.Kind.Call("reconcile", r.Call(o.Key())))
	}
	return ui.Exitf(ui.ExitFailure, "reconcile %s: %s%s", o, message, r.whatElse(ctx, o, ready.Message))
}

// whatElse are the warnings since the request that say more than the condition.
func (r *reconciliation) whatElse(ctx context.Context, o *session.Object, said string) string {
	ctx, cancel := context.WithTimeout(ctx, session.ServerPatience)
	defer cancel()
	events, err := events(ctx, r.Session, o.GetNamespace(), o.Kind.GVK.Kind, o.GetName())
	if err != nil {
		return ""
	}
	const most = 5
	var lines []string
	for i := len(events) - 1; i >= 0 && len(lines) < most; i-- {
		e := events[i]
		// Allow for different clocks of server and client.
		if e.Type == "Warning" && e.Message != said && seenAt(e).After(r.begun.Add(-10*time.Second)) {
			lines = append(lines, fmt.Sprintf("    %s: %s", e.Reason, ui.FirstLine(diagnostic.Printable(e.Message), 300)))
		}
	}
	if len(lines) == 0 {
		return ""
	}
	return "\nEvents:\n" + strings.Join(lines, "\n")
}
