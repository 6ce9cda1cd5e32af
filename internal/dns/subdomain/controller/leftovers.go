// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package controller

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/dns/connect"
	"github.com/yuba-dev/yuba/internal/dns/powerdns"
	"github.com/yuba-dev/yuba/internal/dns/subdomain/decide"
)

const (
	// longest is the longest pause between attempts to remove a leftover, and maxLeft when Yuba gives up.
	longest = time.Minute
	maxLeft = time.Hour
)

// leftovers are what this process has written to servers and has still to remove, although no pass of the claim would do it: the
// claim has expired, is refused, or does not exist any more, because another process came first. A bid that stays would keep
// others from the name. Claims have one worker each, so nothing is removed while a pass uses it.
type leftovers struct {
	mutex sync.Mutex
	all   map[types.NamespacedName][]*leftover
}

// leftover is a bid, or with records all that a claim has, if it is deleted.
type leftover struct {
	t       taking
	records bool
	since   time.Time
	tries   int
	// used by the pass that is not over yet.
	used bool
}

// add remembers what is about to be written, or to be removed.
func (l *leftovers) add(t *taking, records bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := types.NamespacedName{Namespace: t.c.Namespace, Name: t.c.Name}
	one := &leftover{t: *t, records: records, since: t.r.Now(), used: true}
	one.t.c, one.t.gone = t.c.DeepCopy(), records
	for i, is := range l.all[key] {
		if is.t.c.UID == t.c.UID && is.records == records {
			l.all[key][i] = one
			return
		}
	}
	if l.all == nil {
		l.all = map[types.NamespacedName][]*leftover{}
	}
	l.all[key] = append(l.all[key], one)
}

// uses says that a pass goes on with what is left, and decides about it.
func (l *leftovers) uses(t *taking) {
	for _, one := range l.of(types.NamespacedName{Namespace: t.c.Namespace, Name: t.c.Name}) {
		// A bid that is used is written again before it is old.
		one.used = one.used || one.t.c.UID == t.c.UID && !one.records && t.r.Now().Sub(one.since) < decide.BidAge
	}
}

// forget ends what was removed.
func (l *leftovers) forget(t *taking, records bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	key := types.NamespacedName{Namespace: t.c.Namespace, Name: t.c.Name}
	l.all[key] = slices.DeleteFunc(l.all[key], func(one *leftover) bool { return one.t.c.UID == t.c.UID && one.records == records })
	if len(l.all[key]) == 0 {
		delete(l.all, key)
	}
}

func (l *leftovers) of(key types.NamespacedName) []*leftover {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return slices.Clone(l.all[key])
}

// remove removes what is left of a claim after a pass, and returns when to try again; 0 if nothing is left.
func (l *leftovers) remove(ctx context.Context, r *Reconciler, key types.NamespacedName) (after time.Duration) {
	for _, one := range l.of(key) {
		pause := min(shortest<<min(one.tries, 10), longest)
		switch {
		case one.used: // the next pass goes on with it
			one.used, pause = false, shortest
		default:
			err := one.remove(ctx, r)
			if one.tries++; err == nil || r.Now().Sub(one.since) > one.limit() {
				if err != nil {
					r.Log.Warn("records of a SubdomainClaim stay on the DNS server; delete them there", "record", "_yuba."+one.t.domain, "records", one.records, "claim", key.String(), "domain", one.t.domain, "server", one.t.place.URL, "error", err)
				}
				l.forget(&one.t, one.records)
				continue
			}
		}
		if after == 0 || pause < after {
			after = pause
		}
	}
	return after
}

// limit is how long it is tried: an old bid keeps nobody from the name, and who claims the name next removes it.
func (one *leftover) limit() time.Duration {
	if one.records {
		return maxLeft
	}
	return decide.BidAge
}

func (one *leftover) remove(ctx context.Context, r *Reconciler) (err error) {
	if one.records {
		if gone, err := one.t.deleted(ctx); err != nil || !gone { // a claim that exists removes its records itself
			return err
		}
	}
	var pool yubav1.SubdomainPool
	err = r.Direct.Get(ctx, one.t.pool, &pool)
	if apierrors.IsNotFound(err) || err == nil && (pool.Spec.PowerDNS == nil || !within(one.t.domain, pool.Spec.Domain)) {
		return nil // the credentials are gone with it
	}
	if err != nil {
		return err
	}
	t := one.t
	t.server, err = r.connect(ctx, &pool)
	var invalid *connect.InvalidError
	if errors.As(err, &invalid) {
		return nil //nolint:nilerr // the same: nobody can remove it
	}
	if err != nil {
		return err
	}
	if one.records {
		_, err = t.do(ctx)
		return err
	}
	bid := decide.BidOf(t.domain, t.me())
	sets, err := t.server.RRsets(ctx, t.place.Zone, bid)
	if err != nil || len(sets) == 0 {
		return err
	}
	defer r.lock(t.place.URL)()
	return t.server.Change(ctx, t.place.Zone, []powerdns.RRset{{Name: bid + ".", Type: "TXT"}})
}
