// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package pod

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/runs/executor"
	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Backend executes runs in Pods.
type Backend struct {
	Options
	// Client writes; Cache has this instance's Pods.
	Client client.Client
	Cache  cache.Cache
	// Max limits the Pods, and IdleFor is how long an idle one stays.
	Max     int
	IdleFor time.Duration
	Log     *slog.Logger
	Now     func() time.Time

	identities identities

	mu sync.Mutex
	// synced is true once Pods of an earlier server are known.
	synced bool
	pods   map[string]*known
	places map[string]*obstacles
	// poke has a token when a Pod has changed.
	poke chan struct{}
}

// known is a Pod that this backend created or found.
type known struct {
	Pod
	uid   types.UID
	place *run.Place
	// heard is true once its runner has polled, and seen once the cache has had it.
	heard, seen bool
	// leaving Pods get no more runs; deleted ones were deleted by this backend.
	leaving, deleted bool
}

// obstacles are what keeps a place from having a Pod.
type obstacles struct {
	why string
	// until is when another Pod may be created, pause the time between attempts.
	until time.Time
	pause time.Duration
}

// New completes a backend, which has no Pods yet.
func New(b *Backend) *Backend {
	b.pods, b.places, b.poke = map[string]*known{}, map[string]*obstacles{}, make(chan struct{}, 1)
	return b
}

// Keeps reports whether the API has the home's Pod and its container has not ended.
func (b *Backend) Keeps(home string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return !b.synced || b.pods[home] != nil
}

// Starts reports whether the mark is that of Pods that this backend creates.
func (b *Backend) Starts(build string) bool { return build == b.Build }

// Place is the key of the place of the home's Pod.
func (b *Backend) Place(home string) (key string, ok bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := b.pods[home]
	if p == nil || p.leaving || p.State == Ending {
		return "", false
	}
	if !p.heard {
		p.heard = true
		delete(b.places, p.Place)
		b.wake()
	}
	return p.Place, true
}

// Hinders says what keeps the place from having a Pod.
func (b *Backend) Hinders(place string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if o := b.places[place]; o != nil {
		return o.why
	}
	return ""
}

func (b *Backend) wake() {
	select {
	case b.poke <- struct{}{}:
	default:
	}
}

// calm is the shortest time between two passes: many runs come and go at once.
const calm = 20 * time.Millisecond

// Run creates and deletes Pods until ctx ends. Pods outlive it.
func (b *Backend) Run(ctx context.Context, runs executor.Demand) error {
	informer, err := b.Cache.GetInformer(ctx, &corev1.Pod{})
	if err != nil {
		return fmt.Errorf("watch runner Pods: %w", err)
	}
	wake := func(any) { b.wake() }
	if _, err := informer.AddEventHandler(toolscache.ResourceEventHandlerFuncs{
		AddFunc: wake, DeleteFunc: wake, UpdateFunc: func(any, any) { b.wake() }}); err != nil {
		return fmt.Errorf("watch runner Pods: %w", err)
	}
	if !b.Cache.WaitForCacheSync(ctx) {
		return nil
	}
	for ctx.Err() == nil {
		wanted, changed := runs.Wanted()
		next := b.pass(ctx, runs, wanted)
		if !pause(ctx, calm) {
			return nil
		}
		timer := time.NewTimer(next)
		select {
		case <-ctx.Done():
		case <-changed:
		case <-b.poke:
		case <-timer.C:
		}
		timer.Stop()
	}
	return nil
}

func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// lookAgain is the longest time between two passes.
const lookAgain = 10 * time.Second

// pass compares the Pods with what runs need, and acts. It returns when the next pass is due.
func (b *Backend) pass(ctx context.Context, runs executor.Demand, wanted executor.Wanted) time.Duration {
	var list corev1.PodList
	if err := b.Cache.List(ctx, &list, client.MatchingLabels{LabelManagedBy: ManagedBy, LabelName: Name, LabelInstance: b.Instance}); err != nil {
		b.Log.Error("list runner Pods", "error", err)
		return lookAgain
	}
	places := map[string]*run.Place{}
	for _, w := range wanted.Waiting {
		places[w.Place.Key()] = w.Place
	}
	ended := b.observe(list.Items, wanted)
	for home, why := range ended {
		runs.Ended(home, why)
	}
	for _, place := range b.judge(list.Items, places) {
		runs.Hindered(place)
	}
	b.sweep(ctx, list.Items)
	facts := b.facts(wanted)
	actions := Scale(facts)
	b.leave(append(actions.Leave, actions.Delete...))
	b.deleteAll(ctx, runs)
	b.createAll(ctx, actions.Create, places, runs)
	return b.next(actions.Next)
}

// createAll creates Pods. After the first refusal, a place gets no other in this pass.
func (b *Backend) createAll(ctx context.Context, keys []string, places map[string]*run.Place, runs executor.Demand) {
	refused := map[string]bool{}
	for _, key := range keys {
		if refused[key] {
			continue
		}
		created, changed := b.create(ctx, places[key])
		refused[key] = !created
		if changed {
			runs.Hindered(key)
		}
	}
}

// next is when the next pass is due if nothing happens: when an idle Pod has stayed long enough, or
// a place may get a Pod again.
func (b *Backend) next(idle time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	now, next := b.Now(), lookAgain
	if !idle.IsZero() {
		next = min(next, idle.Sub(now))
	}
	for _, o := range b.places {
		if o.until.After(now) {
			next = min(next, o.until.Sub(now))
		}
	}
	return max(next, calm)
}

// unseen is how long a created Pod may be missing in the cache.
const unseen = 30 * time.Second

// observe takes over what the cache has, and returns the homes that ended and why.
func (b *Backend) observe(pods []corev1.Pod, wanted executor.Wanted) (ended map[string]string) {
	now := b.Now()
	ended, living := map[string]string{}, map[string]bool{}
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range pods {
		p := &pods[i]
		home := homeOf(p)
		k := b.pods[home]
		if k == nil && !over(p) && b.signed(p) {
			k = found(p, now)
			b.pods[home] = k
		}
		switch {
		case k == nil:
		case over(p):
			delete(b.pods, home)
			ended[home] = cause(p)
			b.endedEarly(k, cause(p), now)
		default:
			living[home] = true
			k.seen = true
			b.settle(k, p, wanted.Working[home], now)
		}
	}
	for home, k := range b.pods {
		if !living[home] && (k.seen || now.Sub(k.Created) > unseen) {
			delete(b.pods, home)
			b.endedEarly(k, "", now)
			ended[home] = fmt.Sprintf("is gone: Pod %s was deleted", home)
		}
	}
	for home := range wanted.Working {
		if b.pods[home] == nil && home != run.HomeLocal {
			if _, told := ended[home]; !told {
				ended[home] = fmt.Sprintf("is gone: Pod %s does not exist any more", home)
			}
		}
	}
	b.synced = true
	return ended
}

// endedEarly notes that a Pod ended before its runner had polled: another one would most likely end
// like it, so its place waits. b.mu is held.
func (b *Backend) endedEarly(k *known, why string, now time.Time) {
	if k.heard || k.leaving {
		return
	}
	o := b.obstaclesOf(k.Place)
	o.back(now)
	if why != "" {
		o.why = "its runner " + why
	}
}

// obstaclesOf are those of a place, new ones if needed. b.mu is held.
func (b *Backend) obstaclesOf(place string) *obstacles {
	o := b.places[place]
	if o == nil {
		o = &obstacles{}
		b.places[place] = o
	}
	return o
}

// back postpones the next Pod of a place, ever longer.
func (o *obstacles) back(now time.Time) {
	o.pause = min(max(2*o.pause, time.Second), maxPause)
	o.until = now.Add(o.pause)
}

func homeOf(p *corev1.Pod) string { return p.Namespace + "/" + p.Name }

func over(p *corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// found is a Pod that an earlier server created: its annotation is signed.
func found(p *corev1.Pod, now time.Time) *known {
	k := &known{uid: p.UID, place: &run.Place{}, heard: p.Status.Phase == corev1.PodRunning}
	if err := json.Unmarshal([]byte(p.Annotations[annotationPlace]), k.place); err != nil {
		k.place = &run.Place{Namespace: p.Namespace} // nobody's
	}
	k.Pod = Pod{Home: homeOf(p), Place: k.place.Key(), State: Starting, Since: now, Created: p.CreationTimestamp.Time}
	return k
}

// settle finds the state of a Pod. b.mu is held.
func (b *Backend) settle(k *known, p *corev1.Pod, working int, now time.Time) {
	state := Idle
	switch {
	case !p.DeletionTimestamp.IsZero():
		state = Ending
	case working > 0 && k.leaving:
		state = Leaving
	case working > 0:
		state = Working
	case k.leaving:
		state = Ending
	case !k.heard:
		state = Starting
	}
	if state != k.State {
		k.State, k.Since = state, now
	}
	k.Stuck = state == Starting && obstacle(p, now) != "" && now.Sub(k.Created) > turn
}

// facts are those of Scale.
func (b *Backend) facts(wanted executor.Wanted) Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := Facts{Now: b.Now(), Max: b.Max, IdleFor: b.IdleFor, Blocked: map[string]bool{}}
	for _, w := range wanted.Waiting {
		if w.Place != nil {
			f.Waiting = append(f.Waiting, Waiting{Place: w.Place.Key(), Cost: w.Cost})
		}
	}
	for _, home := range slices.Sorted(maps.Keys(b.pods)) {
		f.Pods = append(f.Pods, b.pods[home].Pod)
	}
	for key, o := range b.places {
		f.Blocked[key] = f.Now.Before(o.until)
	}
	return f
}

// judge finds what keeps places with waiting runs from having a Pod. It returns those of which
// something else is true now.
func (b *Backend) judge(pods []corev1.Pod, waiting map[string]*run.Place) (changed []string) {
	now := b.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	why, served := map[string]string{}, map[string]bool{}
	for i := range pods {
		k := b.pods[homeOf(&pods[i])]
		if k == nil || k.State == Ending {
			continue
		}
		if text := obstacle(&pods[i], now); text != "" {
			why[k.Place] = text
		} else if k.heard {
			served[k.Place] = true
		}
	}
	for key := range b.places {
		if waiting[key] == nil {
			delete(b.places, key)
		}
	}
	for key := range waiting {
		o, text := b.places[key], why[key]
		switch {
		case served[key]: // the run waits for its turn, whatever keeps others away
			if o != nil && o.why != "" {
				o.why = ""
				changed = append(changed, key)
			}
		case text != "" && (o == nil || o.why != text):
			b.obstaclesOf(key).why = text
			changed = append(changed, key)
		}
	}
	return changed
}

// leave notes that Pods get no more runs.
func (b *Backend) leave(homes []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, home := range homes {
		if k := b.pods[home]; k != nil {
			k.leaving = true
		}
	}
}

// deleteAll deletes leaving Pods without runs. They get no run any more, so what is wanted now, after
// they began to leave, is final.
func (b *Backend) deleteAll(ctx context.Context, runs executor.Demand) {
	wanted, _ := runs.Wanted()
	b.mu.Lock()
	gone := map[string]*known{}
	for home, k := range b.pods {
		if k.leaving && !k.deleted && wanted.Working[home] == 0 {
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
		b.pods[home] = &known{Pod: Pod{Home: home, Place: key, State: Starting, Since: now, Created: now}, uid: p.UID, place: place}
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
