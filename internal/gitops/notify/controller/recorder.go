// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"fmt"
	"os"
	"time"

	eventv1 "github.com/fluxcd/pkg/apis/event/v1beta1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/reconciling"
	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Recorder records events in the API, and offers them to the dispatcher.
type Recorder struct {
	// Page returns the address of the web page about an event of an object; empty if there is none.
	// Nil: there are no addresses.
	Page func(about client.Object, reason string) string

	api      events.EventRecorder
	scheme   *runtime.Scheme
	offer    func(Event)
	instance string
}

// NewRecorder returns a recorder in front of the API's. offer must not wait.
func NewRecorder(api events.EventRecorder, scheme *runtime.Scheme, offer func(Event)) *Recorder {
	instance, err := os.Hostname()
	if err != nil {
		instance = reportingController
	}
	return &Recorder{api: api, scheme: scheme, offer: offer, instance: instance}
}

// Eventf records an event about the current object. It never waits. Events of Flux's type Trace are
// recorded as normal ones, without notification.
func (r *Recorder) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	message := fmt.Sprintf(note, args...)
	trace := eventType == eventv1.EventTypeTrace
	if trace {
		eventType = corev1.EventTypeNormal
	}
	r.api.Eventf(regarding, related, eventType, reason, action, "%s", shorten.Fit(message, reconciling.MaxNote))
	object, ok := regarding.(client.Object)
	if trace || !ok || eventType == corev1.EventTypeWarning && paused(object) {
		return
	}
	// Alerts cannot name kinds that the scheme does not know.
	e, err := newEvent(r.scheme, object, eventType, reason, message, r.instance, time.Now())
	if err != nil {
		return
	}
	if r.Page != nil {
		e.setMetadata(metaPage, r.Page(object, reason))
	}
	r.offer(e)
}
