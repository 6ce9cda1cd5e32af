// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package statekeeper

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/link"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Keeper brings the state to the working directory, and each state that tofu writes to the spool.
type Keeper struct {
	run  *execution.Run
	site *execution.Site
	// States is nil until the log is open.
	States *spool.States
	// ahead receives a state that was requested early; nil without one.
	ahead chan fetchedState
	// GivenState is the digest of the server's state, StateFetched the status of its response.
	GivenState   string
	StateFetched int
	// offered is the state file that was read last.
	offered workspace.Stamp
	// RescuedState is a state that tofu could not store in its backend.
	RescuedState []byte
}

// New makes a keeper without a state.
func New(t *execution.Run, at *execution.Site) *Keeper { return &Keeper{run: t, site: at} }

// freshState is how long a prefetched state is used. The server checks it before an apply.
const freshState = 5 * time.Second

// fetchedState is the server's answer to a request for the state.
type fetchedState struct {
	Status int
	Data   []byte
	Err    error
	at     time.Time
}

// FetchAhead requests the state while the working directory is prepared.
func (k *Keeper) FetchAhead(ctx context.Context) {
	if k.run.Spec.Backend.Kind != run.BackendManaged {
		return
	}
	ahead := make(chan fetchedState, 1)
	k.ahead = ahead
	go func() { ahead <- k.fetchState(ctx) }()
}

// CurrentState is the prefetched state, or a new one if that is too old.
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

// HeldStates is how many bytes of states are in memory because the disk is full.
func (k *Keeper) HeldStates() int64 {
	if k.States == nil {
		return 0
	}
	return k.States.Held()
}

// PlaceEmptyState gives a stack an empty state unless it may be encrypted: otherwise the states
// written during the apply lack earlier changes. Plan and apply share its derived lineage, even if
// the stack moves to another home in between.
func (k *Keeper) PlaceEmptyState() error {
	if k.site.MayEncrypt() {
		return nil
	}
	sum := sha256.Sum256([]byte(cmp.Or(k.run.Spec.Origin, k.run.Spec.Stack.UID) + "/" + k.site.Space.Named))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	state := fmt.Appendf(nil, `{"version":4,"terraform_version":%q,"serial":0,"lineage":"%x-%x-%x-%x-%x","outputs":{},"resources":[],"check_results":null}`,
		k.site.Space.Tool.Version, sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	k.run.Lock()
	k.run.Journal.Initial = spool.Digest(state)
	k.run.Unlock()
	return k.site.Space.Write(k.site.Space.InModule(k.site.Space.StateIn()), state)
}

// MaxState limits how much of a state is read. One above the run's limit fails the run, but ships.
const MaxState = 1 << 30

// OfferState ships a new complete state. One above the run's limit waits until the process ends.
func (k *Keeper) OfferState() {
	k.offerStateUpTo(k.run.StateLimit())
}

func (k *Keeper) offerStateUpTo(limit int64) {
	file, err := k.site.Space.Open(k.site.Space.InModule(k.site.Space.StateIn()))
	if err != nil {
		return // not there yet
	}
	defer file.Close()
	stamp, err := workspace.StampFile(file)
	if err != nil || stamp.Size == 0 || stamp.Size > limit || stamp == k.offered {
		return // being written, or known
	}
	state, err := workspace.ReadUpTo(file, limit)
	if err != nil {
		return
	}
	k.offered = stamp
	k.States.Offer(state) // a partial one causes another event when complete
}

// RescueStates ships the state file and errored.tfstate at the end. A state in the output is newer.
func (k *Keeper) RescueStates() {
	if len(k.RescuedState) > 0 {
		return
	}
	k.offered = workspace.Stamp{} // timestamps are coarse: always read the last state
	k.offerStateUpTo(MaxState)
	state, err := k.site.Space.Read(k.site.Space.InModule(workspace.ErroredName), MaxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		k.run.Warn("%s exists but cannot be read: %v", workspace.ErroredName, err)
	default:
		k.Rescued(state, "tofu could write it nowhere but in "+workspace.ErroredName)
	}
}

// Rescued ships a state that tofu could not write to its file.
func (k *Keeper) Rescued(state []byte, why string) {
	if !spool.Complete(state) {
		return
	}
	k.run.Log.Warn("Rescued the state: %s", why)
	k.RescuedState = k.withNextSerial(state)
	k.States.Offer(k.RescuedState)
}

// withNextSerial increments an unencrypted state's serial if tofu did not: equal serials conflict.
func (k *Keeper) withNextSerial(state []byte) []byte {
	k.run.Lock()
	last := k.run.Journal.Serial
	k.run.Unlock()
	var parts map[string]json.RawMessage
	if json.Unmarshal(state, &parts) != nil || parts["encrypted_data"] != nil || spool.SerialOf(state) > last {
		return state
	}
	parts["serial"] = fmt.Append(nil, last+1)
	next, err := json.Marshal(parts)
	if err != nil {
		return state
	}
	return next
}
