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

// The reasons of events on providers and alerts, which have no conditions.
const (
	// reasonDispatchFailed: a message could not be sent.
	reasonDispatchFailed = "NotificationDispatchFailed"
	// reasonDispatchSucceeded: messages are sent again, after some could not be.
	reasonDispatchSucceeded = "NotificationDispatchSucceeded"
	// reasonInvalidConfig: the object does not do all that it says.
	reasonInvalidConfig = "InvalidConfig"
)

// The actions of these events. The API shows one text for the events of an object with the same reason and action, so that
// what is of another sort has another action.
const (
	actionCheck    = "Check"
	actionDispatch = "Dispatch"
	actionSend     = "Send"
	actionWait     = "Wait"
)

// readTimeout is for reading the object that an event is about, from the cache.
const readTimeout = 10 * time.Second

// tell records a problem with an alert, and logs it.
func (d *Dispatcher) tell(alert *notificationv1beta3.Alert, action, problem string) {
	key := client.ObjectKeyFromObject(alert).String()
	if !d.told.may(key+" "+problem, time.Now()) {
		return
	}
	d.Log.Warn("notification not sent", "alert", key, "problem", problem)
	reconciling.Event(d.Events, alert, corev1.EventTypeWarning, reasonDispatchFailed, action, problem)
}

// refused tells of a message that is not sent any more.
func (d *Dispatcher) refused(one *delivery, err error) {
	problem := fmt.Sprintf("failed to send notification for %s: %v", objectName(Event{Event: one.Message.Event}), err)
	if alert := d.alert(one.Alert); alert != nil {
		d.tell(alert, actionSend, problem)
	} else if d.told.may(problem, time.Now()) {
		d.Log.Warn("notification not sent", "problem", problem)
	}
}

// outage tells that messages wait.
func (d *Dispatcher) outage(one *delivery, err error) {
	d.Log.Warn("a provider does not take notifications; they wait", "provider", one.Provider.String(), "problem", err.Error())
	problem := fmt.Sprintf("failed to send notification for %s: %v. Retrying for %s", objectName(Event{Event: one.Message.Event}), err, maxAge)
	if alert := d.alert(one.Alert); alert != nil {
		reconciling.Event(d.Events, alert, corev1.EventTypeWarning, reasonDispatchFailed, actionWait, problem)
	}
	if provider := d.provider(one.Provider); provider != nil {
		reconciling.Event(d.Events, provider, corev1.EventTypeWarning, reasonDispatchFailed, actionWait, problem)
	}
}

// recovered tells that messages are sent again.
func (d *Dispatcher) recovered(key types.NamespacedName, after time.Duration, lost int) {
	d.Log.Info("a provider takes notifications again", "provider", key.String(), "after", after.Round(time.Second).String(), "lost", lost)
	if provider := d.provider(key); provider != nil {
		d.Events.Eventf(provider, nil, corev1.EventTypeNormal, reasonDispatchSucceeded, actionSend,
			"notifications are sent again after %s; %d older ones were dropped", after.Round(time.Second), lost)
	}
}

func (d *Dispatcher) alert(key types.NamespacedName) *notificationv1beta3.Alert {
	alert := &notificationv1beta3.Alert{}
	if !d.find(key, alert) {
		return nil
	}
	return alert
}

func (d *Dispatcher) provider(key types.NamespacedName) *notificationv1beta3.Provider {
	provider := &notificationv1beta3.Provider{}
	if !d.find(key, provider) {
		return nil
	}
	return provider
}

// find reads an object that something is to be told of. When it is gone, there is nobody to tell.
func (d *Dispatcher) find(key types.NamespacedName, o client.Object) bool {
	if d.Client == nil || key.Namespace == "" {
		return false
	}
	ctx, cancel := context.WithTimeout(context.Background(), readTimeout)
	defer cancel()
	return d.Client.Get(ctx, key, o) == nil
}
