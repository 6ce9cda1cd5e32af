// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"strings"

	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// announce sends the events of a recorded look: news, new failures, and recoveries.
func (r *reconciler) announce(o, before Object, out *outcome) {
	is, was := conditions.Of(o, meta.ReadyCondition), conditions.Of(before, meta.ReadyCondition)
	if out.err != nil {
		if _, reason, message := r.kind.failure(out.err); was.Status != metav1.ConditionFalse || was.Reason != reason || !strings.HasPrefix(was.Message, message) {
			r.event(o, corev1.EventTypeWarning, reason, message)
		}
		return
	}
	old := before.GetArtifact()
	message := is.Message
	if out.made != nil && out.found.News != "" {
		message = clean(out.found.News)
	}
	switch {
	case out.made != nil && out.gone && old != nil && old.Digest == out.made.digest:
		r.event(o, corev1.EventTypeWarning, "ArtifactVerificationFailed",
			fmt.Sprintf("the stored archive of '%s' was missing or damaged; it was fetched again", old.Revision))
	case out.made != nil && (old == nil || old.Digest != out.made.digest || old.Revision != out.found.Revision):
		r.event(o, corev1.EventTypeNormal, "NewArtifact", message)
		r.announceMove(o, old)
	case was.Status == metav1.ConditionFalse:
		r.event(o, corev1.EventTypeNormal, meta.SucceededReason, message)
	}
	if out.made != nil && len(out.made.leftOut) > 0 {
		r.event(o, corev1.EventTypeWarning, "LinksLeftOut", "links that lead out of the tree were excluded from the artifact: "+strings.Join(out.made.leftOut, ", "))
	}
}

// announceMove reports a fixed name that now has other content, such as a moved tag.
func (r *reconciler) announceMove(o Object, old *meta.Artifact) {
	if old == nil || r.kind.fixed == nil || !r.kind.fixed(o) {
		return
	}
	name, was, ok := strings.Cut(old.Revision, "@")
	again, is, ok2 := strings.Cut(o.GetArtifact().Revision, "@")
	if ok && ok2 && name == again && was != is {
		r.event(o, corev1.EventTypeWarning, "TagMoved", fmt.Sprintf("the tag %s was moved from %s to %s", name, was, is))
	}
}

func (r *reconciler) event(o Object, severity, reason, message string) {
	reconciling.Event(r.Events, o, severity, reason, "Fetch", message)
}
