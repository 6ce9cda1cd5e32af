// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package reconciling

import (
	"context"
	"log/slog"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/yuba-dev/yuba/internal/kit/retry"
)

// Options are those of a controller that makes so many passes at a time.
func Options(workers int) controller.Options {
	// One process may set up its controllers again, after a restored backup.
	return controller.Options{MaxConcurrentReconciles: workers, SkipNameValidation: ptr.To(true), RateLimiter: retry.Limiter()}
}

// Find requests a pass over each object that an index finds. The list says which kind they are of.
func Find(ctx context.Context, cache client.Reader, log *slog.Logger, list client.ObjectList, index, key string) (requests []reconcile.Request) {
	err := cache.List(ctx, list, client.MatchingFields{index: key}, client.UnsafeDisableDeepCopy)
	if err == nil {
		err = apimeta.EachListItem(list, func(o runtime.Object) error {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(o.(client.Object))})
			return nil
		})
	}
	if err != nil {
		log.Error("finding the objects that a change concerns", "changed", key, "index", index, "error", err)
	}
	return requests
}
