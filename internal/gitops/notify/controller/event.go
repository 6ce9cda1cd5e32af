// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"strings"
	"time"

	kustomizev1 "github.com/fluxcd/kustomize-controller/api/v1"
	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	"github.com/fluxcd/pkg/apis/meta"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/kit/brief"
	"github.com/yuba-dev/yuba/internal/kit/conditions"
)

// Event is an event and what is needed of its object to find out who wants it.
type Event struct {
	eventv1.Event
	Labels map[string]string
	// Concerns are the namespaces that an event is about whose object is in none.
	Concerns []string
}

const (
	// maxMessage is the most that Flux's form of events allows. Metadata have so many entries at most, of so many bytes.
	maxMessage  = 39000
	maxMetadata = 100
	maxValue    = 4096
	// metaPlan is the key of a stack's plan that waits, metaChanges that of what it would do.
	metaPlan    = "plan"
	metaChanges = "changes"
	// metaOriginRevision is the annotation of artifacts that says which commit they were made of.
	metaOriginRevision = "org.opencontainers.image.revision"
	// reportingController is who records events.
	reportingController = "yuba"
)

// newEvent puts an object and what is recorded about it into Flux's form. Nothing of the object is kept, for its
// controller goes on to change it.
func newEvent(scheme *runtime.Scheme, o client.Object, eventType, reason, message, instance string, now time.Time) (Event, error) {
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		return Event{}, err
	}
	e := eventv1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: o.GetNamespace(),
			Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()},
		Severity: eventv1.EventSeverityInfo, Timestamp: metav1.NewTime(now.Truncate(time.Second)), Reason: reason, Message: brief.Fit(message, maxMessage),
		ReportingController: reportingController, ReportingInstance: instance, Metadata: map[string]string{},
	}
	if eventType == corev1.EventTypeWarning {
		e.Severity = eventv1.EventSeverityError
	}
	for name, value := range o.GetAnnotations() {
		if strings.HasPrefix(name, eventv1.Group+"/") && len(e.Metadata) < maxMetadata {
			e.Metadata[name] = brief.Fit(value, maxValue)
		}
	}
	for name, value := range facts(o, e) {
		if value != "" {
			e.Metadata[gvk.Group+"/"+name] = value
		}
	}
	return Event{Event: e, Labels: maps.Clone(o.GetLabels()), Concerns: concerns(o)}, nil
}

// concerns are the namespaces that are told of an object that is in none: where the API keeps the events of such objects, which
// is the administrators' namespace, and those whose stacks it is about.
func concerns(o client.Object) []string {
	if o.GetNamespace() != "" {
		return nil
	}
	about := strings.FieldsFunc(o.GetAnnotations()[yubav1.AnnotationConcerns], func(r rune) bool { return r == ',' })
	return append([]string{metav1.NamespaceDefault}, about...)
}

// paused says whether an object is a stack that is paused with many others: what they fail with is told once, by the circuit
// breaker that pauses them.
func paused(o client.Object) bool {
	stack, ok := o.(*infrav1.Terraform)
	return ok && conditions.Of(stack, infrav1.ConditionPaused).Status == metav1.ConditionTrue
}

// facts are what is known of the object that an event is about: its revision first of all.
func facts(o client.Object, e eventv1.Event) map[string]string {
	known := map[string]string{}
	// What could not be fetched or found tells nothing about the revision that was had before.
	before := e.Reason == meta.ArtifactFailedReason || e.Reason == infrav1.ReasonArtifactFailed
	switch o := o.(type) {
	case *kustomizev1.Kustomization:
		if before {
			break
		}
		known[eventv1.MetaRevisionKey] = o.Status.LastAttemptedRevision
		if o.Status.LastAttemptedRevision == "" || o.Status.LastAttemptedRevision == o.Status.LastAppliedRevision {
			known[eventv1.MetaRevisionKey] = o.Status.LastAppliedRevision
			known[eventv1.MetaOriginRevisionKey] = o.Status.LastAppliedOriginRevision
		}
		if e.Severity == eventv1.EventSeverityInfo && strings.HasPrefix(e.Message, "Reconciliation finished") {
			known[eventv1.MetaCommitStatusKey] = eventv1.MetaCommitStatusUpdateValue
		}
	case *infrav1.Terraform:
		if before {
			break
		}
		known[eventv1.MetaRevisionKey] = o.Status.LastAttemptedRevision
		known[metaPlan] = o.Status.Plan.Pending
		if o.Status.Plan.Pending != "" {
			known[metaChanges] = o.Status.Plan.Summary
		}
		// That a run began is for those who keep a status: everybody else is told how it ended.
		if e.Reason == infrav1.ReasonProgressing {
			known[eventv1.MetaCommitStatusKey] = eventv1.MetaCommitStatusUpdateValue
		}
	case *yubav1.CircuitBreaker:
		// The same words to further namespaces are news.
		known[eventv1.MetaTokenKey] = o.Annotations[yubav1.AnnotationConcerns]
	case interface{ GetArtifact() *meta.Artifact }:
		if artifact := o.GetArtifact(); artifact != nil && e.Severity == eventv1.EventSeverityInfo {
			known[eventv1.MetaRevisionKey] = artifact.Revision
			known[eventv1.MetaDigestKey] = artifact.Digest
			known[eventv1.MetaOriginRevisionKey] = artifact.Metadata[metaOriginRevision]
		}
	}
	return known
}

// metadata returns a value that the object's controller gave.
func metadata(e eventv1.Event, name string) string {
	return e.Metadata[e.InvolvedObject.GroupVersionKind().Group+"/"+name]
}

// statusOnly tells whether only those who keep commit statuses are told.
func statusOnly(e eventv1.Event) bool {
	return metadata(e, eventv1.MetaCommitStatusKey) == eventv1.MetaCommitStatusUpdateValue
}
