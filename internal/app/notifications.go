// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package app

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"

	"sigs.k8s.io/controller-runtime/pkg/client"

	notify "github.com/yuba-dev/yuba/internal/gitops/notify/controller"
	"github.com/yuba-dev/yuba/internal/gitops/notify/receive"
	pullrequests "github.com/yuba-dev/yuba/internal/pullrequests/controller"
	"github.com/yuba-dev/yuba/internal/web/links"
)

// addNotifications adds alerts. Call it before adding controllers, which use its event recorder.
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
	recorder := notify.NewRecorder(e.events, e.manager.GetScheme(), e.dispatcher.Offer)
	base, err := e.opts.Web.address()
	if err != nil {
		return err
	}
	if base != nil {
		recorder.Page = pageUnder(base)
	}
	e.events = recorder
	return nil
}

// pageUnder returns the addresses of pages about events, under the one where people reach the page.
// Without that there are none: an address of this machine means nothing to those who read a message.
func pageUnder(base *url.URL) func(client.Object, string) string {
	prefix := strings.TrimRight(base.String(), "/")
	return func(o client.Object, reason string) string {
		if path := links.About(o, reason); path != "" {
			return prefix + path
		}
		return ""
	}
}

// CheckEventsAddr validates an address for events; an empty one is valid.
func CheckEventsAddr(address string) error {
	u, err := url.Parse(address)
	if address != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("--events-addr %q: expected a URL such as http://notification-controller.flux-system.svc.cluster.local./", address)
	}
	return nil
}

// addReceivers adds the receivers of webhooks.
func (e *engine) addReceivers(ctx context.Context) error {
	e.receivers = &receive.Receivers{Client: e.manager.GetClient(), Events: e.events,
		AllowCrossNamespace: e.opts.AllowCrossNamespace, Log: e.opts.Log.With("component", "receivers")}
	if err := e.receivers.SetupWithManager(ctx, e.manager); err != nil {
		return fmt.Errorf("set up the receivers of webhooks: %w", err)
	}
	return nil
}

// keepNotifications waits until unsent notifications are on disk.
func (e *engine) keepNotifications(ctx context.Context) {
	if e.dispatcher == nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	e.dispatcher.Wait(ctx)
}

// hooks serves webhooks through the current engine; while there is none, it asks senders to retry.
type hooks struct{ engine atomic.Pointer[engine] }

func (h *hooks) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e := h.engine.Load()
	if e != nil && e.pullRequests != nil && strings.HasPrefix(r.URL.Path, pullrequests.HookPath) {
		e.pullRequests.ServeHTTP(w, r)
		return
	}
	if e == nil || e.receivers == nil {
		w.Header().Set("Retry-After", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	e.receivers.ServeHTTP(w, r)
}
