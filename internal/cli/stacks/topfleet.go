// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package stacks

import (
	"context"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/cli/session"
)

// standing is the state of a stack in one word.
type standing int

const (
	standsReady standing = iota
	standsRunning
	standsForApproval
	// standsForDependencies waits for its dependencies.
	standsForDependencies
	standsFailing
	standsDrifted
	// standsPaused is paused by a circuit breaker.
	standsPaused
	standsSuspended
	// standsOther waits for something else, or was not reconciled yet.
	standsOther

	standings = int(standsOther) + 1
)

// standingNames are the words in -o json.
var standingNames = [standings]string{"ready", "running", "awaitingApproval", "waiting", "failing", "drifted", "paused", "suspended", "other"}

// standingOf is the state of a stack. A current run counts more than the result of the last one.
func standingOf(t *infrav1.Terraform) standing {
	ready := session.ConditionOf(t, infrav1.ConditionReady)
	switch {
	case t.Spec.Suspend:
		return standsSuspended
	case t.Status.CurrentRun != nil:
		return standsRunning
	case t.AwaitsApproval():
		return standsForApproval
	case ready.Reason == infrav1.ReasonDependencyNotReady:
		return standsForDependencies
	case session.ConditionOf(t, infrav1.ConditionPaused).Status == metav1.ConditionTrue:
		return standsPaused
	case ready.Reason == infrav1.ReasonDriftDetected && ready.Status == metav1.ConditionFalse:
		return standsDrifted
	case ready.Status == metav1.ConditionFalse:
		return standsFailing
	case ready.Status == metav1.ConditionTrue:
		return standsReady
	}
	return standsOther
}

// census is the number of stacks in each state.
type census [standings]int

func (c census) total() int {
	n := 0
	for _, k := range c {
		n += k
	}
	return n
}

func (c census) byName() map[string]int {
	m := map[string]int{"total": c.total()}
	for s, n := range c {
		m[standingNames[s]] = n
	}
	return m
}

// fleet follows the states of stacks. The zero value has none.
type fleet struct {
	mu      sync.Mutex
	stacks  map[types.NamespacedName]standing
	changed chan struct{}
}

// changes returns a channel that is closed on the next change.
func (f *fleet) changes() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.changed == nil {
		f.changed = make(chan struct{})
	}
	return f.changed
}

// tell closes the channel of changes. The lock is held.
func (f *fleet) tell() {
	if f.changed != nil {
		close(f.changed)
		f.changed = nil
	}
}

func (f *fleet) count() census {
	f.mu.Lock()
	defer f.mu.Unlock()
	var c census
	for _, s := range f.stacks {
		c[s]++
	}
	return c
}

const topPage = 500

// list replaces the stacks by those of the API, and returns the version to watch from.
func (f *fleet) list(ctx context.Context, s *session.Session, namespace string) (version string, err error) {
	stacks := map[types.NamespacedName]standing{}
	next := ""
	for {
		var page infrav1.TerraformList
		if err := s.Objects.List(ctx, &page, client.InNamespace(namespace), client.Limit(topPage), client.Continue(next)); err != nil {
			return "", fmt.Errorf("list stacks: %w", err)
		}
		for i := range page.Items {
			stacks[session.KeyOf(&page.Items[i])] = standingOf(&page.Items[i])
		}
		if next = page.Continue; next == "" {
			version = page.ResourceVersion
			break
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.stacks = stacks
	f.tell()
	return version, nil
}

// follow updates the fleet until ctx ends. It waits for an unreachable server.
func (f *fleet) follow(ctx context.Context, s *session.Session, namespace string) error {
	for ctx.Err() == nil {
		err := f.round(ctx, s, namespace)
		if err != nil && !session.Away(err) {
			return err
		}
		if err := session.Pause(ctx, session.RetryPause); err != nil {
			return nil //nolint:nilerr // ctx has ended
		}
	}
	return nil
}

// round lists, then watches until the watch ends.
func (f *fleet) round(ctx context.Context, s *session.Session, namespace string) error {
	version, err := f.list(ctx, s, namespace)
	if err != nil {
		return err
	}
	events, err := s.Objects.Watch(ctx, &infrav1.TerraformList{}, client.InNamespace(namespace),
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	if err != nil {
		return fmt.Errorf("watch stacks: %w", err)
	}
	defer events.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case event, open := <-events.ResultChan():
			if !open || event.Type == watch.Error {
				return nil
			}
			if t, ok := event.Object.(*infrav1.Terraform); ok {
				f.take(t, event.Type == watch.Deleted)
			}
		}
	}
}

func (f *fleet) take(t *infrav1.Terraform, gone bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	key, now := session.KeyOf(t), standingOf(t)
	was, known := f.stacks[key]
	switch {
	case gone:
		delete(f.stacks, key)
	case known && was == now:
		return
	default:
		f.stacks[key] = now
	}
	f.tell()
}
