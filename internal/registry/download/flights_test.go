// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package download

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// Work that panics ends for those who wait for it, and not the process; the next one begins anew.
func TestAPanicIsTheErrorOfThoseWhoWait(t *testing.T) {
	var flights Flights
	err := flights.Do(t.Context(), "a", func(context.Context) error { panic("no such thing") })
	if err == nil || !strings.Contains(err.Error(), "no such thing") || !strings.Contains(err.Error(), "bug") {
		t.Errorf("%v", err)
	}
	if err := flights.Do(t.Context(), "a", func(context.Context) error { return nil }); err != nil || flights.Waiting() != 0 {
		t.Errorf("%v, %d wait", err, flights.Waiting())
	}
}

// What nobody waits for ends, and who comes then is not told of that.
func TestWorkEndsWhenNobodyWaits(t *testing.T) {
	var flights Flights
	ctx, leave := context.WithCancelCause(t.Context())
	ended := make(chan struct{})
	gone := errors.New("gone")
	err := flights.Do(ctx, "a", func(ctx context.Context) error {
		leave(gone)
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	if !errors.Is(err, gone) {
		t.Errorf("%v", err)
	}
	<-ended
	if err := flights.Do(t.Context(), "a", func(context.Context) error { return nil }); err != nil {
		t.Errorf("%v", err)
	}
}
