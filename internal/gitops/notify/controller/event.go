// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"maps"
	"strings"
	"time"

	helmv2 "github.com/fluxcd/helm-controller/api/v2"
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
	"github.com/yuba-dev/yuba/internal/kit/conditions"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Event is an event with its object's facts for alerts.
type Event struct {
	eventv1.Event
	Labels map[string]string
	// Concerns are the namespaces for an object that is in none.
	Concerns []string
}

const (
	// maxMessage is Flux's limit, maxMetadata and maxValue limit the metadata and each value.
	maxMessage  = 39000
	maxMetadata = 100
	maxValue    = 4096
	// metaPlan is the key of a stack's pending plan, metaChanges that of its summary.
	metaPlan    = "plan"
	metaChanges = "changes"
	// metaPage is the key of the address of the web page about the event.
	metaPage = "page"
	// metaOriginRevision is the annotation of artifacts with their commit.
	metaOriginRevision = "org.opencontainers.image.revision"
	// reportingController is the recorder of all events.
	reportingController = "yuba"
)

// newEvent returns an event in Flux's format. It copies from the object, which may change.
func newEvent(scheme *runtime.Scheme, o client.Object, eventType, reason, message, instance string, now time.Time) (Event, error) {
	gvk, err := apiutil.GVKForObject(o, scheme)
	if err != nil {
		return Event{}, err
	}
	e := eventv1.Event{
		InvolvedObject: corev1.ObjectReference{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind, Namespace: o.GetNamespace(),
			Name: o.GetName(), UID: o.GetUID(), ResourceVersion: o.GetResourceVersion()},
		Severity: eventv1.EventSeverityInfo, Timestamp: metav1.NewTime(now.Truncate(time.Second)), Reason: reason, Message: shorten.Fit(message, maxMessage),
		ReportingController: reportingController, ReportingInstance: instance, Metadata: map[string]string{},
	}
	if eventType == corev1.EventTypeWarning {
		e.Severity = eventv1.EventSeverityError
	}
	for name, value := range o.GetAnnotations() {
		if strings.HasPrefix(name, eventv1.Group+"/") && len(e.Metadata) < maxMetadata {
			e.Metadata[name] = shorten.Fit(value, maxValue)
		}
	}
	event := Event{Event: e, Labels: maps.Clone(o.GetLabels()), Concerns: concerns(o)}
	for name, value := range facts(o, e) {
		event.setMetadata(name, value)
	}
	return event, nil
}

// setMetadata sets a value of the object's controller, unless it is empty. Annotations of objects
// cannot: their keys have another prefix.
func (e *Event) setMetadata(name, value string) {
	if value != "" {
		e.Metadata[e.InvolvedObject.GroupVersionKind().Group+"/"+name] = value
	}
}

// concerns returns the namespaces whose alerts may match an object that is in none: the
// administrators' one, where the API stores events of such objects, and those of affected stacks.
func concerns(o client.Object) []string {
	if o.GetNamespace() != "" {
		return nil
	}
	about := strings.FieldsFunc(o.GetAnnotations()[yubav1.AnnotationConcerns], func(r rune) bool { return r == ',' })
	return append([]string{metav1.NamespaceDefault}, about...)
}

// paused reports whether an object is a stack in an outage, whose circuit breaker notifies for all.
func paused(o client.Object) bool {
	stack, ok := o.(*infrav1.Terraform)
	return ok && conditions.Of(stack, infrav1.ConditionPaused).Status == metav1.ConditionTrue
}

// facts returns metadata of an event's object, such as its revision.
func facts(o client.Object, e eventv1.Event) map[string]string {
	known := map[string]string{}
	// A missing artifact says nothing about the previous revision.
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
	case *helmv2.HelmRelease:
		known[eventv1.MetaRevisionKey] = o.Status.LastAttemptedRevision
	case *infrav1.Terraform:
		if before {
			break
		}
		known[eventv1.MetaRevisionKey] = o.Status.LastAttemptedRevision
		known[metaPlan] = o.Status.Plan.Pending
		if o.Status.Plan.Pending != "" {
			known[metaChanges] = o.Status.Plan.Summary
		}
		// The start of a run only updates commit statuses; its end is for all.
		if e.Reason == infrav1.ReasonProgressing {
			known[eventv1.MetaCommitStatusKey] = eventv1.MetaCommitStatusUpdateValue
		}
	case *yubav1.CircuitBreaker:
		// An equal message for further namespaces is new.
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

// metadata returns a value of the object's controller.
func metadata(e eventv1.Event, name string) string {
	return e.Metadata[e.InvolvedObject.GroupVersionKind().Group+"/"+name]
}

// statusOnly reports whether an event only updates commit statuses.
func statusOnly(e eventv1.Event) bool {
	return metadata(e, eventv1.MetaCommitStatusKey) == eventv1.MetaCommitStatusUpdateValue
}
