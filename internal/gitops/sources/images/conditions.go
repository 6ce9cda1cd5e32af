// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package images

import (
	"cmp"
	"errors"
	"strings"
	"unicode"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// maxMessage limits a condition's message.
const maxMessage = 4096

// settle writes an outcome to the status of the object. It makes no requests.
func (r *reconciler) settle(o object, v view, out *outcome) {
	if out.requested != "" {
		*v.handled = out.requested
	}
	if out.write != nil {
		out.write(o)
	}
	switch {
	case out.err != nil:
		r.settleFailure(o, v, out.err)
	case out.silent:
	default:
		*v.generation = o.GetGeneration()
		conditions.Remove(o, meta.StalledCondition, meta.ReconcilingCondition)
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, printable(out.ready))
	}
}

func (r *reconciler) settleFailure(o object, v view, err error) {
	reason, message := r.purpose.failure(err)
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	if stalls(err) {
		*v.generation = o.GetGeneration()
		conditions.Remove(o, meta.ReconcilingCondition)
		conditions.Set(o, meta.StalledCondition, metav1.ConditionTrue, reason, message)
		return
	}
	conditions.Remove(o, meta.StalledCondition)
	conditions.Set(o, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

// failure returns reason and message of an error.
func (p *purpose) failure(err error) (reason, message string) {
	var fetch *archive.FetchError
	if errors.As(err, &fetch) {
		return cmp.Or(fetch.Reason, p.failed), printable(fetch.Message)
	}
	return p.failed, printable(err.Error())
}

// stalls reports whether retrying is useless without a change of the object.
func stalls(err error) bool {
	var fetch *archive.FetchError
	return errors.As(err, &fetch) && fetch.Stalled
}

// printable shortens foreign text, and removes what moves a cursor except for the ends of lines.
func printable(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	return shorten.CutBytes(text, maxMessage)
}

// progress marks the object as in progress.
func progress(o object, message string) {
	conditions.Set(o, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	if ready := conditions.Of(o, meta.ReadyCondition); ready.Type == "" || ready.Status == metav1.ConditionUnknown {
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
	}
}

// announce sends the events of a recorded outcome: news, new failures, and recoveries.
func (r *reconciler) announce(o, before object, out *outcome) {
	for _, one := range out.said {
		r.event(o, one.severity, one.reason, printable(one.message))
	}
	is, was := conditions.Of(o, meta.ReadyCondition), conditions.Of(before, meta.ReadyCondition)
	switch {
	case out.err != nil && (was.Status != metav1.ConditionFalse || was.Reason != is.Reason || was.Message != is.Message):
		r.event(o, corev1.EventTypeWarning, is.Reason, is.Message)
	case out.err == nil && is.Status == metav1.ConditionTrue && was.Status == metav1.ConditionFalse && len(out.said) == 0:
		r.event(o, corev1.EventTypeNormal, meta.SucceededReason, is.Message)
	}
}

func (r *reconciler) event(o object, severity, reason, message string) {
	reconciling.Event(r.Events, o, severity, reason, r.purpose.action, message)
}
