// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package custody

import (
	"bytes"
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

// Keeper brings the state into the working directory, and every state that tofu writes to the spool.
type Keeper struct {
	run  *execution.Run
	site *execution.Site
	// States is nil until the log is open.
	States *spool.States
	// ahead brings the state that was asked for before it is needed; nil when none was.
	ahead chan fetchedState
	// GivenState is the digest of the state that the server gave, see run.ContinueRequest; stateFetched the status with
	// which it answered.
	GivenState   string
	StateFetched int
	// offered is the state file that was read last.
	offered workspace.Stamp
	// RescuedState is a state that tofu could not store where it belongs.
	RescuedState []byte
}

// New makes a keeper without a state.
func New(t *execution.Run, at *execution.Site) *Keeper { return &Keeper{run: t, site: at} }

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

// HeldStates is how many bytes of states are in memory for want of a disk.
func (k *Keeper) HeldStates() int64 {
	if k.States == nil {
		return 0
	}
	return k.States.Held()
}

// PlaceEmptyState gives a stack without a state an empty one. Without it, the states that tofu writes
// during the apply lack earlier changes. The lineage is derived from the stack, so plan and apply see
// the same. A stack that may encrypt its state gets none.
func (k *Keeper) PlaceEmptyState() error {
	if k.site.MayEncrypt() {
		return nil
	}
	sum := sha256.Sum256([]byte(k.run.Spec.Stack.UID + "/" + k.site.Space.Named))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80 // a UUID of version 8: made by a rule of one's own
	state := fmt.Appendf(nil, `{"version":4,"terraform_version":%q,"serial":0,"lineage":"%x-%x-%x-%x-%x","outputs":{},"resources":[],"check_results":null}`,
		k.site.Space.Tool.Version, sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	k.run.Lock()
	k.run.Journal.Initial = spool.Digest(state)
	k.run.Unlock()
	return k.site.Space.Write(k.site.Space.InModule(k.site.Space.StateIn()), state)
}

// MaxState limits what is read of a state. A state above the run's limit fails the run, but is shipped.
const MaxState = 1 << 30

// OfferState ships the state file if it has a new complete state. A state above the run's limit waits
// for the end of the process.
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
	k.States.Offer(state) // one that is half written makes another event when it is whole
}

// RescueStates ships the state file, and errored.tfstate, after the process has ended. A state in the
// output is newer than both.
func (k *Keeper) RescueStates() {
	if len(k.RescuedState) > 0 {
		return
	}
	k.offered = workspace.Stamp{} // time stamps are coarse: read the last state in any case
	k.offerStateUpTo(MaxState)
	state, err := k.site.Space.Read(k.site.Space.InModule(workspace.ErroredName), MaxState)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		k.run.Warn("%s is there and cannot be read: %v", workspace.ErroredName, err)
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

// withNextSerial increases the serial if tofu did not: two states with one serial are a conflict. It
// leaves encrypted states alone.
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
