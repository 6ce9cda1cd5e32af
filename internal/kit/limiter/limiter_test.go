// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package limiter

import (
	"context"
	"errors"
	"testing"
)

func TestAKeyHasPlacesOfItsOwnAndIsForgotten(t *testing.T) {
	limiter := New(2)
	var leave []func()
	for range 2 {
		done, err := limiter.Take(t.Context(), "slow")
		if err != nil {
			t.Fatal(err)
		}
		leave = append(leave, done)
	}
	ended, end := context.WithCancelCause(t.Context())
	waiting := make(chan error, 1)
	go func() {
		_, err := limiter.Take(ended, "slow")
		waiting <- err
	}()
	other, err := limiter.Take(t.Context(), "fast")
	if err != nil {
		t.Fatalf("a full key blocks another one: %v", err)
	}
	other()
	gaveUp := errors.New("gave up")
	end(gaveUp)
	if err := <-waiting; !errors.Is(err, gaveUp) {
		t.Errorf("waiting for a third place ended with %v, want %v", err, gaveUp)
	}
	leave[0]()
	again, err := limiter.Take(t.Context(), "slow")
	if err != nil {
		t.Fatalf("a place that was given back is not free: %v", err)
	}
	again()
	leave[1]()
	if len(limiter.of) != 0 {
		t.Errorf("%d keys are remembered, want none", len(limiter.of))
	}
}
