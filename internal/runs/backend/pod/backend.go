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
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/yuba-dev/yuba/internal/runs/backend"
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
	// since is when this server came to know the Pod. missed says that its runner, which has a run,
	// does not report.
	since  time.Time
	missed string
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

// Misses says that the home's runner has not reported for long.
func (b *Backend) Misses(home string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	if k := b.pods[home]; k != nil {
		return k.missed
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
func (b *Backend) Run(ctx context.Context, runs backend.Demand) error {
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
func (b *Backend) pass(ctx context.Context, runs backend.Demand, wanted backend.Wanted) time.Duration {
	var list corev1.PodList
	if err := b.Cache.List(ctx, &list, client.MatchingLabels{LabelManagedBy: ManagedBy, LabelName: Name, LabelInstance: b.Instance}); err != nil {
		b.Log.Error("list runner Pods", "error", err)
		return lookAgain
	}
	places := map[string]*run.Place{}
	for _, w := range wanted.Waiting {
		places[w.Place.Key()] = w.Place
	}
	ended, missed := b.observe(list.Items, wanted)
	for home, why := range ended {
		runs.Ended(home, why)
	}
	for _, home := range missed {
		runs.Missed(home)
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
func (b *Backend) createAll(ctx context.Context, keys []string, places map[string]*run.Place, runs backend.Demand) {
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

// observe takes over what the cache has. It returns the homes that ended and why, and those of which
// Misses says something else now.
func (b *Backend) observe(pods []corev1.Pod, wanted backend.Wanted) (ended map[string]string, missed []string) {
	now := b.Now()
	living := map[string]bool{}
	ended = map[string]string{}
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
			if b.miss(k, p, wanted.Homes[home], now) {
				missed = append(missed, home)
			}
			b.settle(k, p, wanted.Homes[home], now)
		}
	}
	for home, k := range b.pods {
		if !living[home] && (k.seen || now.Sub(k.Created) > unseen) {
			delete(b.pods, home)
			b.endedEarly(k, "", now)
			ended[home] = fmt.Sprintf("is gone: Pod %s was deleted", home)
		}
	}
	for home, use := range wanted.Homes {
		if use.Runs > 0 && b.pods[home] == nil && home != run.HomeLocal {
			if _, told := ended[home]; !told {
				ended[home] = fmt.Sprintf("is gone: Pod %s does not exist any more", home)
			}
		}
	}
	b.synced = true
	return ended, missed
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
	k := &known{uid: p.UID, place: &run.Place{}, heard: p.Status.Phase == corev1.PodRunning, since: now}
	if err := json.Unmarshal([]byte(p.Annotations[annotationPlace]), k.place); err != nil {
		k.place = &run.Place{Namespace: p.Namespace} // nobody's
	}
	k.Pod = Pod{Home: homeOf(p), Place: k.place.Key(), State: Starting, Since: now, Created: p.CreationTimestamp.Time}
	return k
}

// settle finds the state of a Pod. b.mu is held.
func (b *Backend) settle(k *known, p *corev1.Pod, use backend.Home, now time.Time) {
	k.Left = use.Left
	state := Idle
	switch {
	case !p.DeletionTimestamp.IsZero():
		state = Ending
	case use.Runs > 0 && k.leaving:
		state = Leaving
	case use.Runs > 0:
		state = Working
	case k.leaving:
		state = Ending
	case !k.heard:
		state = Starting
	}
	if state != k.State {
		k.State, k.Since = state, now
	}
	k.Stuck = state == Starting && b.obstacleOf(k, p, now) != "" && now.Sub(k.Created) > turn
}

// facts are those of Scale.
func (b *Backend) facts(wanted backend.Wanted) Facts {
	b.mu.Lock()
	defer b.mu.Unlock()
	f := Facts{Now: b.Now(), Max: b.Max, IdleFor: b.IdleFor, Blocked: map[string]bool{}}
	for _, w := range wanted.Waiting {
		if w.Place != nil {
			f.Waiting = append(f.Waiting, Waiting{Place: w.Place.Key(), Cost: w.Cost, Awaited: w.Awaited})
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
		if text := b.obstacleOf(k, &pods[i], now); text != "" {
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
