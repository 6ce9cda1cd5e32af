// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package passes

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// Queue requests passes of one controller. The zero value is ready to use.
type Queue struct {
	to atomic.Pointer[workqueue.TypedRateLimitingInterface[reconcile.Request]]
}

// Source receives the queue when the controller starts.
func (q *Queue) Source() source.Source {
	return source.Func(func(_ context.Context, to workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		q.to.Store(&to)
		return nil
	})
}

// Add requests a pass after a while. A controller that has not started ignores it: it begins with a
// pass over each object.
func (q *Queue) Add(name types.NamespacedName, after time.Duration) {
	if to := q.to.Load(); to != nil {
		(*to).AddAfter(reconcile.Request{NamespacedName: name}, after)
	}
}
