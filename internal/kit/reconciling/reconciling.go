// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reconciling

import (
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Triggers ignores updates of the status only, which reconcilers write themselves, unless one of
// more matches.
func Triggers(more ...predicate.Predicate) predicate.Predicate {
	deletion := predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectNew.GetDeletionTimestamp() != nil && e.ObjectOld.GetDeletionTimestamp() == nil
	}}
	return predicate.Or(append(more, predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, deletion)...)
}

// Again ends a reconciliation whose object changed meanwhile: the change triggers the next one. It
// returns other errors unchanged.
func Again(err error) (ctrl.Result, error) {
	if apierrors.IsConflict(err) {
		return ctrl.Result{RequeueAfter: 10 * time.Millisecond}, nil
	}
	return ctrl.Result{}, err
}

// MaxNote is the API's limit for an event's note, in bytes.
const MaxNote = 1024

// Event records an event about an object.
func Event(recorder events.EventRecorder, about runtime.Object, severity, reason, action, message string) {
	recorder.Eventf(about, nil, severity, reason, action, "%s", shorten.Fit(message, MaxNote))
}
