// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package registry

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// maxAttempts limits the attempts of an upload while the registry is busy with others: ten minutes
// with the server's usual delay.
const maxAttempts = 60

// patiently tries an upload again for as long as the registry is busy with others, when the server
// says so. It tells the user what it waits for.
func patiently[T any](ctx context.Context, news func(format string, args ...any), doing string, upload func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		done, err := upload()
		seconds, busy := apierrors.SuggestsClientDelay(err)
		if !busy || !apierrors.IsTooManyRequests(err) || attempt == maxAttempts {
			return done, err
		}
		news("%s: the registry is busy with other uploads; the next attempt is in %d s.", doing, seconds)
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-ctx.Done():
			return done, context.Cause(ctx)
		}
	}
}
