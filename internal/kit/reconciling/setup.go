// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reconciling

import (
	"context"
	"log/slog"
	"time"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// shortest and longest limit the backoff of failed reconciliations. A thousand failing objects
// cause thirty a second; Kubernetes' default would block them for a quarter of an hour.
const shortest, longest = 5 * time.Millisecond, 30 * time.Second

func limiter() workqueue.TypedRateLimiter[reconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](shortest, longest)
}

// Options are those of a controller with that many concurrent reconciliations.
func Options(workers int) controller.Options {
	// One process may set up its controllers again, after a restored backup.
	return controller.Options{MaxConcurrentReconciles: workers, SkipNameValidation: ptr.To(true), RateLimiter: limiter()}
}

// Find requests the reconciliation of each object that an index finds, of the list's kind.
func Find(ctx context.Context, cache client.Reader, log *slog.Logger, list client.ObjectList, index, key string) (requests []reconcile.Request) {
	err := cache.List(ctx, list, client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = apimeta.EachListItem(list, func(o runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
			return nil
		})
	}
	if err != nil {
		log.Error("cannot find the objects that a change concerns", "changed", key, "index", index, "error", err)
	}
	return requests
}
