// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/runs/backend"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// deleteAll deletes leaving Pods without runs. They get no run any more, so what is wanted now, after
// they began to leave, is final.
func (b *Backend) deleteAll(ctx context.Context, runs backend.Demand) {
	wanted, _ := runs.Wanted()
	b.mu.Lock()
	gone := map[string]*known{}
	for home, k := range b.pods {
		if k.leaving && !k.deleted && wanted.Homes[home].Runs == 0 {
			k.State, gone[home] = Ending, k
		}
	}
	b.mu.Unlock()
	for home, k := range gone {
		namespace, name := split(home)
		p := &corev1.Pod{}
		p.Namespace, p.Name = namespace, name
		if b.delete(ctx, p, k.uid) {
			b.mu.Lock()
			k.deleted = true
			b.mu.Unlock()
		}
	}
}

// delete deletes a Pod. The next pass repeats what fails.
func (b *Backend) delete(ctx context.Context, p *corev1.Pod, uid types.UID) bool {
	err := b.Client.Delete(ctx, p, client.Preconditions{UID: &uid})
	if err == nil || apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return true
	}
	b.Log.Error("delete a runner Pod", "pod", homeOf(p), "error", err)
	return false
}

// sweep deletes Pods whose runner has ended: failed ones stay for a while, so that people can look
// at them.
func (b *Backend) sweep(ctx context.Context, pods []corev1.Pod) {
	now, failed := b.Now(), map[string]int{}
	for i := range pods {
		p := &pods[i]
		if !over(p) || !p.DeletionTimestamp.IsZero() || !b.signed(p) {
			continue
		}
		if p.Status.Phase == corev1.PodFailed && now.Sub(endOf(p)) < b.IdleFor {
			if failed[p.Labels[LabelPlace]]++; failed[p.Labels[LabelPlace]] <= maxFailed {
				continue
			}
		}
		b.delete(ctx, p, p.UID)
	}
}

// maxFailed is how many failed Pods of a place stay.
const maxFailed = 2

// endOf is when the Pod's runner ended, or when the Pod began if nobody knows.
func endOf(p *corev1.Pod) time.Time {
	for _, s := range p.Status.ContainerStatuses {
		if t := s.State.Terminated; t != nil && s.Name == Container {
			return t.FinishedAt.Time
		}
	}
	return p.CreationTimestamp.Time
}

// maxPause is the longest time between two attempts to create a Pod of a place.
const maxPause = 30 * time.Second

// create creates a Pod of a place, and reports whether another obstacle is known now.
func (b *Backend) create(ctx context.Context, place *run.Place) (created, changed bool) {
	p, err := b.pod(place)
	if err == nil {
		err = b.Client.Create(ctx, p)
	}
	key, now := place.Key(), b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	if err == nil {
		home := homeOf(p)
		b.pods[home] = &known{Pod: Pod{Home: home, Place: key, State: Starting, Since: now, Created: now}, uid: p.UID, place: place, since: now}
		b.Log.Debug("created a runner Pod", "pod", home)
		o := b.places[key]
		changed = o != nil && o.why != ""
		if changed {
			o.why = ""
		}
		return true, changed
	}
	why, o := refusal(place, err), b.obstaclesOf(key)
	o.back(now)
	if o.why == why || b.serves(key) {
		return false, false
	}
	o.why = why
	b.Log.Warn("no runner Pod can be created", "namespace", place.Namespace, "why", why)
	return false, true
}

// serves reports whether a Pod of the place takes runs. b.mu is held.
func (b *Backend) serves(place string) bool {
	for _, k := range b.pods {
		if k.Place == place && k.heard && k.State != Ending {
			return true
		}
	}
	return false
}
