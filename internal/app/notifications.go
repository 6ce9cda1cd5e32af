// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync/atomic"

	notify "github.com/yuba-dev/yuba/internal/gitops/notify/controller"
	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
)

// addNotifications has what controllers record told to those whom it concerns. It comes before the controllers, which all
// get the recorder that it makes.
func (e *engine) addNotifications() error {
	if !e.opts.GitOps && e.opts.EventsAddr == "" {
		return nil
	}
	e.dispatcher = &notify.Dispatcher{Events: e.events, Dir: e.dir.Notifications(), EventsAddr: e.opts.EventsAddr,
		AllowCrossNamespace: e.opts.AllowCrossNamespace, Log: e.opts.Log.With("component", "notifications")}
	if e.opts.GitOps {
		e.dispatcher.Client = e.manager.GetClient()
	}
	e.dispatcher.Prepare()
	if err := e.dispatcher.SetupWithManager(e.manager); err != nil {
		return fmt.Errorf("set up the notifications: %w", err)
	}
	e.events = notify.NewRecorder(e.events, e.manager.GetScheme(), e.dispatcher.Offer)
	return nil
}

// CheckEventsAddr says whether events can be posted to an address; the empty one means nowhere.
func CheckEventsAddr(address string) error {
	u, err := url.Parse(address)
	if address != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("--events-addr %q: want a URL such as http://notification-controller.flux-system.svc.cluster.local./", address)
	}
	return nil
}

// addReceivers takes webhooks.
func (e *engine) addReceivers(ctx context.Context) error {
	e.receivers = &receive.Receivers{Client: e.manager.GetClient(), Events: e.events,
		AllowCrossNamespace: e.opts.AllowCrossNamespace, Log: e.opts.Log.With("component", "receivers")}
	if err := e.receivers.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the receivers of webhooks: %w", err)
	}
	return nil
}

// keepNotifications waits until what could not be sent is on disk.
func (e *engine) keepNotifications(ctx context.Context) {
	if e.dispatcher == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	e.dispatcher.Wait(ctx)
}

// hooks serves webhooks for the engine there is; while there is none, their senders are told to come again.
type hooks struct{ engine atomic.Pointer[engine] }

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := h.engine.Load()
	if e == nil || e.receivers == nil {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	e.receivers.ServeHTTP(w, r)
}
