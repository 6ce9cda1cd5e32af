// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package retry

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// Longest is the longest pause: a thousand objects that fail make some thirty passes a second, which fail at once.
const Longest = 30 * time.Second

const shortest = 5 * time.Millisecond

// Limiter returns what a controller's queue asks for the pause after a failure.
func Limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortest, Longest)
}
