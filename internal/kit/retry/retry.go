// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Longest is the maximum backoff: a thousand failing objects cause about thirty reconciliations a
// second, which fail at once.
const Longest = 30 * time.Second

const shortest = 5 * time.Millisecond

// Limiter returns the rate limiter of a controller's queue.
func Limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortest, Longest)
}
