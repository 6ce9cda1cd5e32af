// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// errTimeout means that an evaluation took too long.
var errTimeout = errors.New("timeout")

// withProcessorTime returns a context that ends after some time of the processor: on a busy machine,
// the time of a clock says little about the rules.
func withProcessorTime(parent context.Context, limit time.Duration) (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(parent)
	end := processorTime() + limit
	go func() {
		ticker := time.NewTicker(50 * time.Millisecond)
		defer ticker.Stop()
		for processorTime() < end {
			select {
			case <-ticker.C:
			case <-ctx.Done():
				return
			}
		}
		cancel(errTimeout)
	}()
	return ctx, func() { cancel(nil) }
}

// processorTime is the time that this process has used.
func processorTime() time.Duration {
	var usage unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &usage); err != nil {
		return 0 // it always works; and the caller has a limit, too
	}
	return time.Duration(unix.TimevalToNsec(usage.Utime) + unix.TimevalToNsec(usage.Stime))
}
