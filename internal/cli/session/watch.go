// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"context"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
)

// WaitFor watches a stack until done accepts it, and returns it; nil if it is gone.
func (s *Session) WaitFor(ctx context.Context, key types.NamespacedName, done func(*infrav1.Terraform) bool) (*infrav1.Terraform, error) {
	w := waiter[*infrav1.Terraform]{Session: s, key: key, empty: func() *infrav1.Terraform { return &infrav1.Terraform{} }, list: &infrav1.TerraformList{},
		done: func(t *infrav1.Terraform) (bool, error) {
			t.SetGroupVersionKind(StackKind)
			return done(t), nil
		}}
	return w.wait(ctx)
}

// waiter is one wait. It may need several watches: an API server ends each of them sooner or later.
type waiter[T client.Object] struct {
	*Session
	key   types.NamespacedName
	empty func() T
	list  client.ObjectList
	done  func(T) (bool, error)
}

// wait returns the object that done accepted; nil if it is gone.
func (w *waiter[T]) wait(ctx context.Context) (o T, err error) {
	for {
		var decided bool
		err = w.Patient(ctx, func(ctx context.Context) (err error) {
			o, decided, err = w.round(ctx)
			return err
		})
		if err != nil || decided {
			return o, err
		}
	}
}

// round reads the object and watches it until done decides or the watch ends.
func (w *waiter[T]) round(ctx context.Context) (_ T, decided bool, err error) {
	var gone T
	o := w.empty()
	if err := w.Objects.Get(ctx, w.key, o); err != nil {
		if apierrors.IsNotFound(err) {
			return gone, true, nil
		}
		return gone, false, fmt.Errorf("get %s: %w", w.key, err)
	}
	if decided, err := w.done(o); decided || err != nil {
		return o, decided, err
	}
	events, err := w.Objects.Watch(ctx, w.list, client.InNamespace(w.key.Namespace),
		client.MatchingFields{metav1.ObjectNameField: w.key.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: o.GetResourceVersion()}})
	if err != nil {
		return gone, false, fmt.Errorf("watch %s: %w", w.key, err)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return gone, false, ctx.Err()
		case event, open := <-events.ResultChan():
			if !open || event.Type == watch.Error {
				return gone, false, Pause(ctx, RetryPause) // the server may end each watch at once
			}
			if event.Type == watch.Deleted {
				return gone, true, nil
			}
			if seen, ok := event.Object.(T); ok {
				if decided, err := w.done(seen); decided || err != nil {
					return seen, decided, err
				}
			}
		}
	}
}

// Pause waits for some time, or until the command ends.
func Pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

const (
	// RetryPause is the time between attempts to reach the server.
	RetryPause = 500 * time.Millisecond
	// patience limits how long a server may be unreachable, for instance during an upgrade.
	patience = time.Minute
	// longestDial exceeds the timeout of a connection attempt: a longer request was connected.
	longestDial = 35 * time.Second
)

// Patient retries a read while the server is unreachable.
func (s *Session) Patient(ctx context.Context, read func(context.Context) error) error {
	var since time.Time
	for {
		begun := time.Now()
		err := read(ctx)
		if time.Since(begun) > longestDial {
			since = time.Time{} // it was reachable meanwhile
		}
		if err == nil || ctx.Err() != nil || !Away(err) {
			if err != nil && ctx.Err() != nil {
				return ctx.Err()
			}
			return err
		}
		switch {
		case since.IsZero():
			since = time.Now()
			s.News("The server is unreachable; runs continue. Retrying …")
		case time.Since(since) > patience:
			return err
		}
		if err := Pause(ctx, RetryPause); err != nil {
			return err
		}
	}
}

// Away reports whether an error means that the server is unreachable.
func Away(err error) bool {
	var network net.Error
	var broken *net.OpError
	return errors.As(err, &broken) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.As(err, &network) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err)
}
