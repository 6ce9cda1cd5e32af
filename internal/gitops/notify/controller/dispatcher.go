// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/notify/send"
	"github.com/yuba-dev/yuba/internal/gitops/notify/throttle"
)

// Dispatcher sends events to the providers of matching alerts.
type Dispatcher struct {
	// Client reads alerts and providers from the cache, and Secrets from the API. Nil: EventsAddr
	// only.
	Client client.Client
	// Events records the results of deliveries in the API, without notifications.
	Events events.EventRecorder
	// Dir contains waiting deliveries.
	Dir string
	// EventsAddr is another dispatcher that receives every event; empty means none.
	EventsAddr string
	// AllowCrossNamespace lets alerts name objects of other namespaces.
	AllowCrossNamespace bool
	Log                 *slog.Logger
	// Pause is the delay before the first retry of a delivery; the default is a second.
	Pause time.Duration

	in      chan Event
	dropped atomic.Int64
	recent  recent
	told    throttle.Throttle
	queues  queues
	sending chan struct{}
	started atomic.Bool
	stopped chan struct{}
}

const (
	// offered limits the events that wait to be dispatched.
	offered = 1024
	// sendings is the number of concurrent attempts.
	sendings = 8
	// rereadEvery is the interval for files that could not be read.
	rereadEvery = time.Minute
	// eventsTimeout limits one attempt to reach another dispatcher.
	eventsTimeout = 15 * time.Second
)

// eventsQueue is the name of the queue for EventsAddr. Providers have a namespace.
var eventsQueue = types.NamespacedName{Name: "events-addr"}

// Prepare initialises the dispatcher, before Offer.
func (d *Dispatcher) Prepare() {
	d.in, d.sending, d.stopped = make(chan Event, offered), make(chan struct{}, sendings), make(chan struct{})
	d.queues.all = map[types.NamespacedName]*queue{}
	if d.Pause == 0 {
		d.Pause = time.Second
	}
}

// Offer accepts an event. It never waits.
func (d *Dispatcher) Offer(e Event) {
	select {
	case d.in <- e:
	default:
		d.dropped.Add(1)
	}
}

// Start dispatches until ctx ends, and then stores waiting deliveries.
func (d *Dispatcher) Start(ctx context.Context) error {
	d.started.Store(true)
	defer close(d.stopped)
	files := os.DirFS(d.Dir)
	unread := d.restore(ctx, files)
	again := time.NewTicker(rereadEvery)
	defer again.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case e := <-d.in:
			d.dispatch(ctx, e)
		case <-again.C:
			unread = d.takeUp(ctx, files, unread)
		}
	}
	d.finish(context.WithoutCancel(ctx))
	return nil
}

// finish dispatches the last events, waits for running attempts, and stores waiting deliveries.
func (d *Dispatcher) finish(ctx context.Context) {
	d.queues.close()
	for len(d.in) > 0 { // nothing else receives
		d.dispatch(ctx, <-d.in)
	}
	d.queues.workers.Wait()
	for _, q := range d.queues.list() {
		q.keep()
	}
}

// Wait waits until waiting deliveries are stored, after the end of Start's context.
func (d *Dispatcher) Wait(ctx context.Context) {
	if !d.started.Load() {
		return
	}
	select {
	case <-d.stopped:
	case <-ctx.Done():
	}
}

// NeedLeaderElection implements manager.LeaderElectionRunnable: every process sends its own events.
func (d *Dispatcher) NeedLeaderElection() bool { return false }

// dispatch queues a delivery for each matching alert.
func (d *Dispatcher) dispatch(ctx context.Context, e Event) {
	if n := d.dropped.Swap(0); n > 0 {
		d.Log.Warn("too many events: some were dropped without notification", "events", n)
	}
	if d.EventsAddr != "" {
		d.queues.get(d, eventsQueue).add(ctx, &delivery{Provider: eventsQueue, At: time.Now().UTC(), Message: send.Message{Event: e.Event, ID: messageID(e, eventsQueue)}})
	}
	if d.Client == nil || d.recent.seen(e.Event, time.Now()) {
		return
	}
	var alerts notificationv1beta3.AlertList
	if err := d.Client.List(ctx, &alerts); err != nil {
		d.Log.Error("listing the alerts for an event failed", "error", err)
		return
	}
	for i := range alerts.Items {
		if alert := &alerts.Items[i]; wants(alert, &e, d.AllowCrossNamespace) {
			d.deliver(ctx, alert, e)
		}
	}
}

// deliver queues an event for an alert's provider.
func (d *Dispatcher) deliver(ctx context.Context, alert *notificationv1beta3.Alert, e Event) {
	var provider notificationv1beta3.Provider
	key := types.NamespacedName{Namespace: alert.Namespace, Name: alert.Spec.ProviderRef.Name}
	if err := d.Client.Get(ctx, key, &provider); err != nil {
		if apierrors.IsNotFound(err) {
			err = fmt.Errorf("spec.providerRef: there is no Provider %s", key)
		}
		d.tell(alert, actionDispatch, fmt.Sprintf("cannot send a notification for %s: %v", objectName(e), err))
		return
	}
	if provider.Spec.Suspend || !send.Supported(provider.Spec.Type) {
		return
	}
	message := send.Message{Event: enrich(e.Event, alert), Page: metadata(e.Event, metaPage), ID: messageID(e, client.ObjectKeyFromObject(alert))}
	if send.KeepsStatuses(provider.Spec.Type) {
		if _, ok := send.Commit(message.Event); !ok {
			return
		}
		var err error
		if message.CommitStatus, err = commitStatus(ctx, &provider, alert, message.Event); err != nil {
			d.tell(alert, actionDispatch, fmt.Sprintf("cannot send a notification for %s: %v", objectName(e), err))
			return
		}
	} else if statusOnly(e.Event) {
		return
	}
	d.queues.get(d, key).add(ctx, &delivery{Provider: key, Alert: client.ObjectKeyFromObject(alert), At: time.Now().UTC(), Message: message})
}

// messageID identifies an event for one alert, in hexadecimal digits.
func messageID(e Event, alert types.NamespacedName) string {
	sum := sha256.Sum256([]byte(eventKey(e.Event) + " " + alert.String() + " " + e.Timestamp.String()))
	return hex.EncodeToString(sum[:16])
}

func objectName(e Event) string {
	return e.InvolvedObject.Kind + "/" + e.InvolvedObject.Namespace + "/" + e.InvolvedObject.Name
}

// queues are those of the providers.
type queues struct {
	mu      sync.Mutex
	all     map[types.NamespacedName]*queue
	closed  bool
	workers sync.WaitGroup
}

func (s *queues) get(d *Dispatcher, provider types.NamespacedName) *queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := s.all[provider]
	if q == nil {
		q = &queue{d: d, provider: provider}
		s.all[provider] = q
	}
	return q
}

// begin starts a worker, unless the dispatcher stops.
func (s *queues) begin(work func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.workers.Go(work)
	return true
}

func (s *queues) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
}

func (s *queues) list() []*queue {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Collect(maps.Values(s.all))
}
