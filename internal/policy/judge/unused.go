// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"slices"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
)

// sweep removes stored bundles that no policy has, and looks again when those that are too young for
// that are not. changed: other bundles are in force, or a policy is gone.
func (k *Keeper) sweep(ctx context.Context, changed bool) (ctrl.Result, error) {
	k.sweepMu.Lock()
	defer k.sweepMu.Unlock()
	changed, k.swept = changed || !k.swept, true // after a start, nobody knows
	if !changed && (k.sweepAt.IsZero() || time.Now().Before(k.sweepAt)) {
		return ctrl.Result{RequeueAfter: k.untilSweep()}, nil
	}
	next, err := k.collect(ctx)
	if err != nil {
		return ctrl.Result{}, err
	}
	k.sweepAt = next
	return ctrl.Result{RequeueAfter: k.untilSweep()}, nil
}

// untilSweep is zero if there is nothing to wait for. The policy that is reconciled last looks again.
func (k *Keeper) untilSweep() time.Duration {
	if k.sweepAt.IsZero() {
		return 0
	}
	return max(time.Until(k.sweepAt), time.Second)
}

// unusedFor is how long bundles stay that no policy has: another server may be about to refer to one,
// and a judgement in progress may still read one.
const unusedFor = time.Hour

// collect removes stored bundles that no policy has, and returns when the youngest of those that stay
// may go; zero if there are none.
func (k *Keeper) collect(ctx context.Context) (next time.Time, err error) {
	if k.Evaluator == nil {
		return next, nil
	}
	keys, err := k.Evaluator.Store.Keys(ctx, bundlePrefix)
	if err != nil || len(keys) == 0 {
		return next, err
	}
	used := map[string]bool{}
	err = k.each(ctx, func(_ client.Object, _ *yubav1.PolicySpec, status *yubav1.PolicyStatus) {
		for _, b := range status.Bundles {
			used[bundleKey(b.Digest)] = true
		}
	})
	if err != nil {
		return next, err
	}
	remove, next := unused(keys, used, time.Now())
	for _, key := range remove {
		if err := k.Evaluator.Store.Delete(ctx, key); err != nil {
			return next, err
		}
	}
	return next, nil
}

// unused are the keys of bundles to remove, and when the youngest of the other unused ones may go; zero
// if there are none.
func unused(keys map[string]time.Time, used map[string]bool, now time.Time) (remove []string, next time.Time) {
	for key, written := range keys {
		switch due := written.Add(unusedFor); {
		case used[key]:
		case !now.Before(due):
			remove = append(remove, key)
		case due.After(next):
			next = due
		}
	}
	slices.Sort(remove)
	return remove, next
}
