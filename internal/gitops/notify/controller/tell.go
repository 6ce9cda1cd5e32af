// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"fmt"
	"time"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/kit/reconciling"
)

// The reasons of events on providers and alerts, which do not have conditions.
const (
	// reasonDispatchFailed: a message could not be sent.
	reasonDispatchFailed = "NotificationDispatchFailed"
	// reasonDispatchSucceeded: messages are sent again after an outage.
	reasonDispatchSucceeded = "NotificationDispatchSucceeded"
	// reasonInvalidConfig: a part of the object has no effect.
	reasonInvalidConfig = "InvalidConfig"
)

// The actions of these events. The API shows one text for each object, reason and action, so events
// of different sorts have different actions.
const (
	actionCheck    = "Check"
	actionDispatch = "Dispatch"
	actionSend     = "Send"
	actionWait     = "Wait"
)

// readTimeout limits reading an event's object from the cache.
const readTimeout = 10 * time.Second

// tell records and logs a problem of an alert.
func (d *Dispatcher) tell(alert *notificationv1beta3.Alert, action, problem string) {
	key := client.ObjectKeyFromObject(alert).String()
	if !d.told.May(key+" "+problem, time.Now()) {
		return
	}
	d.Log.Warn("notification not sent", "alert", key, "problem", problem)
	reconciling.Event(d.Events, alert, corev1.EventTypeWarning, reasonDispatchFailed, action, problem)
}

// refused reports a message that was given up.
func (d *Dispatcher) refused(one *delivery, err error) {
	problem := fmt.Sprintf("failed to send notification for %s: %v", objectName(Event{Event: one.Message.Event}), err)
	if alert := (&notificationv1beta3.Alert{}); d.find(one.Alert, alert) {
		d.tell(alert, actionSend, problem)
	} else if d.told.May(problem, time.Now()) {
		d.Log.Warn("notification not sent", "problem", problem)
	}
}

// outage reports the start of an outage.
func (d *Dispatcher) outage(one *delivery, err error) {
	d.Log.Warn("a provider does not accept notifications; they wait", "provider", one.Provider.String(), "problem", err.Error())
	problem := fmt.Sprintf("failed to send notification for %s: %v. Retrying for %s", objectName(Event{Event: one.Message.Event}), err, maxAge)
	if alert := (&notificationv1beta3.Alert{}); d.find(one.Alert, alert) {
		reconciling.Event(d.Events, alert, corev1.EventTypeWarning, reasonDispatchFailed, actionWait, problem)
	}
	if provider := (&notificationv1beta3.Provider{}); d.find(one.Provider, provider) {
		reconciling.Event(d.Events, provider, corev1.EventTypeWarning, reasonDispatchFailed, actionWait, problem)
	}
}

// recovered reports the end of an outage.
func (d *Dispatcher) recovered(key types.NamespacedName, after time.Duration, lost int) {
	d.Log.Info("a provider accepts notifications again", "provider", key.String(), "after", after.Round(time.Second).String(), "lost", lost)
	if provider := (&notificationv1beta3.Provider{}); d.find(key, provider) {
		d.Events.Eventf(provider, nil, corev1.EventTypeNormal, reasonDispatchSucceeded, actionSend,
			"notifications are sent again after %s; %d older ones were dropped", after.Round(time.Second), lost)
	}
}

// find reads an alert or provider to report to, if it exists.
func (d *Dispatcher) find(key types.NamespacedName, o client.Object) bool {
	if d.Client == nil || key.Namespace == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	return d.Client.Get(ctx, key, o) == nil
}
