// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"sync/atomic"
	"time"

	notificationv1beta3 "github.com/fluxcd/notification-controller/api/v1beta3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/gitops/notify/send"
)

// Dispatcher finds out who is told of events, and tells them.
type Dispatcher struct {
	// Client reads alerts and providers from the cache, and Secrets past it. Without it, events go to EventsAddr alone.
	Client client.Client
	// Events records what became of deliveries. It is the API's, which nobody is told of.
	Events events.EventRecorder
	// Dir holds deliveries that wait.
	Dir string
	// EventsAddr is another dispatcher that gets every event; empty means none.
	EventsAddr string
	// AllowCrossNamespace lets alerts name objects of other namespaces.
	AllowCrossNamespace bool
	Log                 *slog.Logger
	// Pause is between the first attempts of a delivery; 0 means a second.
	Pause time.Duration

	in      chan Event
	dropped atomic.Int64
	recent  recent
	told    throttle
	queues  queues
	sending chan struct{}
	started atomic.Bool
	stopped chan struct{}
}

const (
	// offered is how many events may wait to be dispatched.
	offered = 1024
	// sendings is how many attempts are made at a time.
	sendings = 8
	// rereadEvery is how often files of deliveries are tried again that could not be read.
	rereadEvery = time.Minute
	// eventsTimeout is for one attempt to tell another dispatcher.
	eventsTimeout = 15 * time.Second
)

// eventsQueue is the name of the queue for EventsAddr. No provider has it, for it has no namespace.
var eventsQueue = types.NamespacedName{Name: "events-addr"}

// Prepare makes the dispatcher ready for Offer.
func (d *Dispatcher) Prepare() {
	d.in, d.sending, d.stopped = make(chan Event, offered), make(chan struct{}, sendings), make(chan struct{})
	d.queues.all = map[types.NamespacedName]*queue{}
	if d.Pause == 0 {
		d.Pause = time.Second
	}
}

// Offer takes an event. It never waits.
func (d *Dispatcher) Offer(e Event) {
	select {
	case d.in <- e:
	default:
		d.dropped.Add(1)
	}
}

// Start dispatches until ctx ends. Then everything that waits goes to disk.
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

// finish dispatches what was offered before the end, lets the attempts end and stores what waits.
func (d *Dispatcher) finish(ctx context.Context) {
	d.queues.close()
	for {
		select {
		case e := <-d.in:
			d.dispatch(ctx, e)
			continue
		default:
		}
		break
	}
	d.queues.workers.Wait()
	for _, q := range d.queues.list() {
		q.keep()
	}
}

// Wait waits until what waits to be sent is on disk, after the end of Start's context. A dispatcher that was not started has
// nothing.
func (d *Dispatcher) Wait(ctx context.Context) {
	if !d.started.Load() {
		return
	}
	select {
	case <-d.stopped:
	case <-ctx.Done():
	}
}

// NeedLeaderElection says that whoever records events tells of them.
func (d *Dispatcher) NeedLeaderElection() bool { return false }

// dispatch puts a delivery for each that wants an event into a queue.
func (d *Dispatcher) dispatch(ctx context.Context, e Event) {
	if n := d.dropped.Swap(0); n > 0 {
		d.Log.Warn("more events came than could be dispatched; nobody was told of some", "events", n)
	}
	if d.EventsAddr != "" {
		d.queues.get(d, eventsQueue).add(ctx, &delivery{Provider: eventsQueue, At: time.Now().UTC(), Message: send.Message{Event: e.Event, ID: messageID(e, eventsQueue)}})
	}
	if d.Client == nil || d.recent.seen(e.Event, time.Now()) {
		return
	}
	var alerts notificationv1beta3.AlertList
	if err := d.Client.List(ctx, &alerts); err != nil {
		d.Log.Error("finding the alerts for an event", "error", err)
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
	message := send.Message{Event: enrich(e.Event, alert), ID: messageID(e, client.ObjectKeyFromObject(alert))}
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

// messageID is a name for an event to one alert, of characters that are in no way special.
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

// begin lets a worker begin unless the end has come.
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
	all := make([]*queue, 0, len(s.all))
	for _, q := range s.all {
		all = append(all, q)
	}
	return all
}
