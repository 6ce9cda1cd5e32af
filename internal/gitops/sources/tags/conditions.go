// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package tags

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	"github.com/fluxcd/pkg/apis/meta"
	sourcev1 "github.com/fluxcd/source-controller/api/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/archive"
	"github.com/yuba-dev/yuba/internal/gitops/sources/tags/decide"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

const (
	// maxRefusals is the number of refused tags in a status, maxRefusal the length of a message there,
	// and maxMessage that of a condition's message.
	maxRefusals = 20
	maxRefusal  = 1024
	maxMessage  = 4096
	// maxEvents is the number of events about refused tags of one look, and maxNamed the number of
	// versions that an event names.
	maxEvents = 5
	maxNamed  = 10
)

// settle writes the result of a look to the status of the object. It makes no requests.
func settle(o *yubav1.ModuleSource, out *outcome) {
	if out.requested != "" {
		o.Status.LastHandledReconcileAt = out.requested
	}
	if out.listed {
		settleTags(o, out)
	}
	if out.err != nil {
		settleFailure(o, out)
		return
	}
	o.Status.ObservedGeneration = o.Generation
	conditions.Remove(o, meta.StalledCondition)
	message := summary(o)
	if left := out.decision.Left; left > 0 {
		progress(o, fmt.Sprintf("%s; %d tags are left", message, left))
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, fmt.Sprintf("%s; %d tags are left", message, left))
		return
	}
	conditions.Remove(o, meta.ReconcilingCondition)
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionTrue, meta.SucceededReason, message)
}

// settleTags writes what is published and refused.
func settleTags(o *yubav1.ModuleSource, out *outcome) {
	s := &o.Status
	s.Published, s.Modules = 0, nil
	for _, m := range out.decision.Modules {
		s.Published += int32(m.Count)
		s.Modules = append(s.Modules, yubav1.ModuleSourceModuleStatus{Name: m.Name, Published: int32(m.Count), Latest: m.Latest})
	}
	s.Refused, s.RefusedTags = int32(len(out.decision.Refused)), nil
	for _, r := range out.decision.Refused[:min(maxRefusals, len(out.decision.Refused))] {
		s.RefusedTags = append(s.RefusedTags, refusal(r))
	}
	if n := len(out.published); n > 0 {
		s.LastTag = printable(out.published[n-1].Tag.Name, maxRefusal)
		at := metav1.NewTime(out.ended.UTC().Truncate(time.Second))
		s.LastPublished = &at
	}
	if s.Refused == 0 {
		conditions.Remove(o, yubav1.TagsRefusedCondition)
		return
	}
	first := s.RefusedTags[0]
	text := fmt.Sprintf("%d %s refused; status.refusedTags says why. The first: %s: %s", s.Refused, isOrAre(s.Refused), first.Tag, first.Message)
	conditions.Set(o, yubav1.TagsRefusedCondition, metav1.ConditionTrue, first.Reason, shorten.Cut(text, maxMessage))
}

func isOrAre(tags int32) string {
	if tags == 1 {
		return "tag is"
	}
	return "tags are"
}

func refusal(r decide.Refusal) yubav1.ModuleSourceRefusal {
	module := r.Module
	if r.Version != "" {
		module += "@" + r.Version
	}
	return yubav1.ModuleSourceRefusal{Tag: printable(r.Tag.Name, 300), Commit: r.Tag.Commit, Module: module, Reason: r.Reason, Message: printable(r.Message, maxRefusal)}
}

// printable shortens foreign text, and removes what moves a cursor except for the ends of lines.
func printable(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) || r == '\n' {
			return r
		}
		return ' '
	}, strings.ToValidUTF8(text, "?"))
	return shorten.CutBytes(text, limit)
}

// summary is the message of an object without failures.
func summary(o *yubav1.ModuleSource) string {
	s := &o.Status
	text := "published 1 version"
	if s.Published != 1 {
		text = fmt.Sprintf("published %d versions", s.Published)
	}
	if n := len(s.Modules); n > 1 {
		text += fmt.Sprintf(" of %d modules", n)
	} else if n == 1 && s.Modules[0].Latest != "" {
		text += fmt.Sprintf(" of %s, the latest is %s", s.Modules[0].Name, s.Modules[0].Latest)
	}
	if s.Refused > 0 {
		text += fmt.Sprintf("; %d %s refused: %s (%s)", s.Refused, isOrAre(s.Refused), s.RefusedTags[0].Tag, s.RefusedTags[0].Reason)
	}
	return text
}

// settleFailure records a failure. Published versions stay.
func settleFailure(o *yubav1.ModuleSource, out *outcome) {
	reason, message := failure(out.err)
	conditions.Set(o, meta.ReadyCondition, metav1.ConditionFalse, reason, message)
	if userActs(out.err) {
		o.Status.ObservedGeneration = o.Generation
		conditions.Remove(o, meta.ReconcilingCondition)
		conditions.Set(o, meta.StalledCondition, metav1.ConditionTrue, reason, message)
		return
	}
	conditions.Remove(o, meta.StalledCondition)
	conditions.Set(o, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingWithRetryReason, message)
}

// failure returns reason and message of an error. The first matching rule counts: what a user must
// do comes first.
func failure(err error) (reason, message string) {
	var forbidden *forbiddenError
	var invalid *invalidError
	var registry *registryError
	var fetch *archive.FetchError
	switch {
	case errors.As(err, &invalid):
		return yubav1.ReasonInvalidModules, printable(invalid.Error(), maxMessage)
	case errors.As(err, &forbidden):
		return yubav1.ReasonPublishingForbidden, printable(forbidden.Error(), maxMessage)
	case errors.As(err, &registry):
		return yubav1.ReasonRegistryFailed, printable(registry.Error(), maxMessage)
	case errors.As(err, &fetch):
		return fetch.Reason, printable(fetch.Message, maxMessage)
	}
	return sourcev1.GitOperationFailedReason, printable(err.Error(), maxMessage)
}

// stalls reports whether retrying is useless without a change of the object.
func stalls(err error) bool {
	var fetch *archive.FetchError
	var invalid *invalidError
	return errors.As(err, &fetch) && fetch.Stalled || errors.As(err, &invalid)
}

// userActs reports whether somebody must act. Missing permissions are retried soon all the same:
// nothing tells when they are granted.
func userActs(err error) bool { return stalls(err) || isForbidden(err) }

// progress marks the object as in progress.
func progress(o *yubav1.ModuleSource, message string) {
	conditions.Set(o, meta.ReconcilingCondition, metav1.ConditionTrue, meta.ProgressingReason, message)
	if ready := conditions.Of(o, meta.ReadyCondition); ready.Type == "" || ready.Status == metav1.ConditionUnknown {
		conditions.Set(o, meta.ReadyCondition, metav1.ConditionUnknown, meta.ProgressingReason, message)
	}
}

// announce sends the events of a recorded look: published versions, new refusals, new failures, and
// recoveries.
func (p *Publisher) announce(o, before *yubav1.ModuleSource, out *outcome) {
	if names := out.names(); len(names) > 0 {
		text := strings.Join(names[:min(maxNamed, len(names))], ", ")
		if more := len(names) - maxNamed; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		p.event(o, corev1.EventTypeNormal, yubav1.ReasonPublished, "published "+text)
	}
	was := map[string]bool{}
	for _, r := range before.Status.RefusedTags {
		was[r.Tag+r.Commit+r.Module+r.Reason] = true
	}
	told := 0
	for _, r := range o.Status.RefusedTags {
		if was[r.Tag+r.Commit+r.Module+r.Reason] || told == maxEvents || before.Status.Refused > maxRefusals {
			continue
		}
		told++
		p.event(o, corev1.EventTypeWarning, r.Reason, fmt.Sprintf("the tag %s is not published: %s", r.Tag, r.Message))
	}
	ready, readyBefore := conditions.Of(o, meta.ReadyCondition), conditions.Of(before, meta.ReadyCondition)
	switch {
	case out.err != nil && (readyBefore.Status != metav1.ConditionFalse || readyBefore.Reason != ready.Reason || readyBefore.Message != ready.Message):
		p.event(o, corev1.EventTypeWarning, ready.Reason, ready.Message)
	case out.err == nil && readyBefore.Status == metav1.ConditionFalse:
		p.event(o, corev1.EventTypeNormal, meta.SucceededReason, ready.Message)
	}
}

func (p *Publisher) event(o *yubav1.ModuleSource, severity, reason, message string) {
	reconciling.Event(p.Events, o, severity, reason, "Publish", message)
}
