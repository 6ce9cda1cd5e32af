// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package custody

import (
	"bytes"
	"context"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
)

// freshState is for how long a state that was fetched ahead is as good as one that is fetched when it is needed. It
// only saves a plan of a state that has just moved: before an apply the server makes sure that it has not.
const freshState = 5 * time.Second

// fetchedState is the server's answer to the question for the state.
type fetchedState struct {
	Status int
	Data   []byte
	Err    error
	at     time.Time
}

// FetchAhead asks for the state while the working directory is being prepared.
func (k *Keeper) FetchAhead(ctx context.Context) {
	if k.run.Spec.Backend.Kind != run.BackendManaged {
		return
	}
	ahead := make(chan fetchedState, 1)
	k.ahead = ahead
	go func() { ahead <- k.fetchState(ctx) }()
}

// CurrentState is the state that was fetched ahead, or another one when that has become old.
func (k *Keeper) CurrentState(ctx context.Context) fetchedState {
	ahead := k.ahead
	k.ahead = nil
	if ahead != nil {
		if f := <-ahead; time.Since(f.at) < freshState {
			return f
		}
	}
	return k.fetchState(ctx)
}

func (k *Keeper) fetchState(ctx context.Context) fetchedState {
	var state bytes.Buffer
	f := fetchedState{at: time.Now()}
	f.Status, f.Err = k.run.Persist(ctx, link.Request{Method: http.MethodGet, Path: "/state", Stream: &state,
		Limit: k.run.StateLimit()})
	f.Data = state.Bytes()
	return f
}
