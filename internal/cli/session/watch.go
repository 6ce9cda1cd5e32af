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

// Verdict is what somebody who waits says about a stack as it is.
type Verdict int

const (
	// NotYet: wait for the next change.
	NotYet Verdict = iota
	// Done: this is it.
	Done
)

// WaitFor watches a stack until it is what is waited for, and returns it; nil when it is gone.
func (s *Session) WaitFor(ctx context.Context, key types.NamespacedName, judge func(*infrav1.Terraform) Verdict) (*infrav1.Terraform, error) {
	w := waiter{Session: s, key: key, empty: func() client.Object { return &infrav1.Terraform{} }, list: func() client.ObjectList { return &infrav1.TerraformList{} },
		judge: func(o client.Object) Verdict {
			t, ok := o.(*infrav1.Terraform)
			if !ok {
				return NotYet
			}
			t.SetGroupVersionKind(StackKind)
			return judge(t)
		}}
	o, err := w.wait(ctx)
	t, _ := o.(*infrav1.Terraform)
	return t, err
}

// waiter is one wait, which may need several watches: an API server ends each of them sooner or later.
type waiter struct {
	*Session
	key   types.NamespacedName
	empty func() client.Object
	list  func() client.ObjectList
	judge func(client.Object) Verdict
}

// wait returns the object when it is what is waited for; nil when it is gone.
func (w *waiter) wait(ctx context.Context) (client.Object, error) {
	for {
		var o client.Object
		var decided bool
		err := w.Patient(ctx, func(ctx context.Context) (err error) {
			o, decided, err = w.round(ctx)
			return err
		})
		if err != nil || decided {
			return o, err
		}
	}
}

// round reads the object and watches it until something is decided or the watch ends.
func (w *waiter) round(ctx context.Context) (client.Object, bool, error) {
	o := w.empty()
	if err := w.Objects.Get(ctx, w.key, o); err != nil {
		if apierrors.IsNotFound(err) {
			return nil, true, nil
		}
		return nil, false, fmt.Errorf("get %s: %w", w.key, err)
	}
	if w.judge(o) == Done {
		return o, true, nil
	}
	events, err := w.Objects.Watch(ctx, w.list(), client.InNamespace(w.key.Namespace),
		client.MatchingFields{metav1.ObjectNameField: w.key.Name},
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: o.GetResourceVersion()}})
	if err != nil {
		return nil, false, fmt.Errorf("watch %s: %w", w.key, err)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, false, ctx.Err()
		case event, open := <-events.ResultChan():
			if !open || event.Type == watch.Error {
				return nil, false, w.pause(ctx)
			}
			if event.Type == watch.Deleted {
				return nil, true, nil
			}
			if seen, ok := event.Object.(client.Object); ok && w.judge(seen) == Done {
				return seen, true, nil
			}
		}
	}
}

// pause keeps a server that ends each watch at once from being asked in a tight loop.
func (w *waiter) pause(ctx context.Context) error { return Pause(ctx, RetryPause) }

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
	// RetryPause is the time between attempts to reach a server that went away.
	RetryPause = 500 * time.Millisecond
	// patience is how long a server may be away, for an upgrade for instance: runs go on without it.
	patience = time.Minute
	// longestDial is more than a connection takes until it is given up: what lasts longer had one.
	longestDial = 35 * time.Second
)

// Patient does something that reads, and does it again while the server cannot be reached.
func (s *Session) Patient(ctx context.Context, read func(context.Context) error) error {
	var since time.Time
	for {
		begun := time.Now()
		err := read(ctx)
		if time.Since(begun) > longestDial {
			since = time.Time{} // it was there meanwhile
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

// Away says whether an error means that the server cannot be reached right now.
func Away(err error) bool {
	var network net.Error
	var broken *net.OpError
	return errors.As(err, &broken) || errors.Is(err, syscall.ECONNREFUSED) || errors.Is(err, syscall.ECONNRESET) || errors.As(err, &network) ||
		apierrors.IsServiceUnavailable(err) || apierrors.IsTooManyRequests(err) || apierrors.IsServerTimeout(err)
}
