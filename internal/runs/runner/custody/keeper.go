// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package custody

import (
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/yuba-dev/yuba/internal/runs/runner/execution"
	"github.com/yuba-dev/yuba/internal/runs/runner/spool"
	"github.com/yuba-dev/yuba/internal/runs/runner/workspace"
)

// Keeper brings the state into the working directory, and every state that is written from there to the spool.
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

func New(t *execution.Run, at *execution.Site) *Keeper { return &Keeper{run: t, site: at} }

// HeldStates is how many bytes of states are in memory for want of a disk.
func (k *Keeper) HeldStates() int64 {
	if k.States == nil {
		return 0
	}
	return k.States.Held()
}

// PlaceEmptyState gives a stack without a state an empty one. As long as tofu has an empty file instead, it reads that
// again before each change, and the states it writes during the apply lack what was created before. The lineage is the
// stack's own, so that a plan and its apply see the same. With encryption a plain state could not be read; then, and
// when in doubt, there is none.
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

// MaxState is the most that is read of a state. One over the run's limit fails the run, but is shipped: the server may
// refuse it, then it is kept here.
const MaxState = 1 << 30

// OfferState ships the state file if it holds a complete state that is new. One over the run's limit has to wait for the end
// of the process: it fails the run in any case, and only the last one is worth its memory.
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

// RescueStates ships what is there when the process has ended: the state file, and the file tofu writes when it
// could not write that. A state that came by another way is newer than both.
func (k *Keeper) RescueStates() {
	if len(k.RescuedState) > 0 {
		return
	}
	k.offered = workspace.Stamp{} // clocks of file systems are coarse: the last one is read in any case
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

// Rescued takes a state that tofu could not store where it belongs.
func (k *Keeper) Rescued(state []byte, why string) {
	if !spool.Complete(state) {
		return
	}
	k.run.Log.Warn("Rescued the state: %s", why)
	k.RescuedState = k.withNextSerial(state)
	k.States.Offer(k.RescuedState)
}

// withNextSerial counts on from the state before when tofu did not come to that: two states of one serial that differ
// are a conflict for everybody who reads them. An encrypted state is left as it is.
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
