// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// Record is a run as it is kept: what was asked, by whom it is carried out, what came of it. It holds secrets (the
// spec's variables and environment) and the token; [Record.Public] is what may be shown.
type Record struct {
	Spec    Spec      `json:"spec"`
	Token   string    `json:"token,omitempty"`
	Created time.Time `json:"created"`
	// Runner and Started are set when a runner took it. Home is that runner's; empty for HomeLocal.
	Runner  string     `json:"runner,omitempty"`
	Home    string     `json:"home,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// LockHeld is true from when the run's apply may begin until its state's lock was released.
	LockHeld bool `json:"lockHeld,omitempty"`
	// Permitted is true once the run's apply was allowed to begin. From then on only a person ends it, or, while it is
	// Planning, whoever calls it back.
	Permitted bool `json:"permitted,omitempty"`
	// Planning is true for a run that was permitted to plan and apply with one process, until the runner tells that the
	// process has begun to change something. Until then it can be called back.
	Planning bool `json:"planning,omitempty"`
	// StoppedBy is the person who ended the run.
	StoppedBy string  `json:"stoppedBy,omitempty"`
	Result    *Result `json:"result,omitempty"`
	// PlanDigest is the digest of the run's plan once anything of it came: what else comes must be of the same plan.
	PlanDigest string `json:"planDigest,omitempty"`
	// State names the managed state; the server's business, a runner only ever sees its bytes.
	State StateRef `json:"state,omitzero"`
	// StateMark is the state the run was given, then the last one it shipped; StatesStored the last one's sequence.
	StateMark    *StateMark `json:"stateMark,omitempty"`
	StatesStored int        `json:"statesStored,omitempty"`
	// Began is the state with which the apply began; nil before it was permitted. Planned are the changes that the runner
	// announced when it asked, PlannedTotal their number.
	Began        *StateMark `json:"began,omitempty"`
	Planned      []Fate     `json:"planned,omitempty"`
	PlannedTotal int        `json:"plannedTotal,omitempty"`
	// PlannedNone is true when the runner announced that there is no change.
	PlannedNone bool `json:"plannedNone,omitempty"`
	// Generation is the object's when the run was asked for.
	Generation int64 `json:"generation,omitempty"`
	// Config is the digest of the configuration the run works on, UsedKept that it is the one kept from the last apply.
	Config   string `json:"config,omitempty"`
	UsedKept bool   `json:"usedKept,omitempty"`
	// WholeConfig is that digest over the whole archive where Config covers the part that the stack reads; else empty.
	WholeConfig string `json:"wholeConfig,omitempty"`
	// SettledConfig is the digest for a program that calls modules from elsewhere if these cannot change and read nothing else
	// of the source, which the run finds out; else empty.
	SettledConfig string `json:"settledConfig,omitempty"`
	// Inputs say of the configuration what the spec does not.
	Inputs *Inputs `json:"inputs,omitempty"`
	// Announced runs are named by the stack's status, which is how a server that starts anew finds them.
	Announced bool `json:"announced,omitempty"`
	// Quiet runs are passes that leave no trace of their own when they find nothing: their record is kept in one place
	// that each of them overwrites.
	Quiet bool `json:"quiet,omitempty"`
	// Trigger says in words what started the run, such as "generation 3" or "drift interval".
	Trigger string `json:"trigger,omitempty"`
	// HeldBy is the circuit breaker because of which a plan is kept for a person although the stack applies by itself.
	HeldBy string `json:"heldBy,omitempty"`
	// By is the person who asked for the run, empty when the stack itself did.
	By string `json:"by,omitempty"`
	// Urgency says who waits for the run; empty counts as UrgencyChange.
	Urgency Urgency `json:"urgency,omitempty"`
	// Passes counts the quiet passes in a row that found nothing, this one included.
	Passes int `json:"passes,omitempty"`
	// Waits says in words what a run in hand waits for, when that is more than its turn. It is not on record.
	Waits string `json:"-"`
	// StateOwners are those of the state when the run took its lock. They are not on record.
	StateOwners StateOwners `json:"-"`
}

// StateOwners are the stacks, of a tenant or of nobody, whose resources a state holds.
type StateOwners struct {
	Stacks []StateOwner
	Scope  scope.Scope
}

// StateOwner is a stack whose resources a state holds.
type StateOwner struct{ Name, UID string }

// Urgency says who waits for a run: it is what the queue orders by first.
type Urgency string

const (
	// UrgencyAwaited is for what a person asked for or approved, and for the end of an object that is to go.
	UrgencyAwaited Urgency = "awaited"
	// UrgencyChange is for what an input changed.
	UrgencyChange Urgency = "change"
	// UrgencyDrift is for a look whether the world is as it was left.
	UrgencyDrift Urgency = "drift"
)

// WaitsForRunner and the names of stacks are what a run says that waits for a runner of an earlier server to leave.
const WaitsForRunner = "Waiting for the runner of an earlier server to finish "

// WaitsForState and the reason are what a run says whose state the API refuses.
const WaitsForState = "The run's state cannot be stored, so it keeps its lock and tries again. Nothing is lost: the state is kept as a version. "

// StateRef names a managed state and the labels its Secret gets.
type StateRef struct {
	Namespace string            `json:"namespace"`
	Workspace string            `json:"workspace"`
	Suffix    string            `json:"suffix"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Stack is the stack's name, for messages.
	Stack string `json:"stack,omitempty"`
	// Existing says that a state is known to have existed: finding none is an error then.
	Existing bool `json:"existing,omitempty"`
	// Scope is whose stack it is.
	Scope scope.Scope `json:"tenant,omitempty"`
}

// StateMark identifies one state. The zero mark stands for "there has never been one".
type StateMark struct {
	Serial  uint64 `json:"serial"`
	Lineage string `json:"lineage"`
	Digest  string `json:"digest"`
}

// Changing says whether the run may be changing something: it is awaited then.
func (r Record) Changing() bool {
	return r.Spec.Operation == OperationApply || r.Permitted && !r.Planning
}

// ErrNotFound says that there is no such run on record.
var ErrNotFound = errors.New("no such run")

// ErrDamaged says that a run is on record and the record cannot be read, now or later.
var ErrDamaged = errors.New("the record is damaged")

// Public returns the record without variables, environment, outputs and token.
func (r Record) Public() Record {
	r.Token = ""
	r.Spec.Variables = nil
	r.Spec.Env = nil
	r.Spec.LockFile, r.Spec.CLIConfig, r.Spec.Files = nil, nil, nil
	r.Spec.Backend.Settings, r.Spec.Secrets = nil, nil
	r = r.WithoutPushedState()
	if r.Result != nil {
		result := *r.Result
		result.Outputs, result.LockFile = nil, nil
		r.Result = &result
	}
	return r
}

// NewID makes a run's id: its time, so that ids sort by age, and 40 random bits.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102-150405.000") + "-" + randomHex(5)
}

// tokenBytes are the random bytes of a token.
const tokenBytes = 32

// NewToken makes a bearer token of 256 random bits.
func NewToken() string { return randomHex(tokenBytes) }

// IsToken reports whether text has the shape of a token: damaged ones rarely have.
func IsToken(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == hex.EncodedLen(tokenBytes)
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // never fails, see its documentation
	return hex.EncodeToString(b)
}

// Prefix is where the blobs of all of a stack's runs are kept.
func (s Stack) Prefix() string { return path.Join("runs", s.Namespace, s.Name, s.UID) + "/" }

// The blobs of one run, below its key.
const (
	BlobRecord   = "record.json"
	BlobLog      = "log.jsonl"
	BlobPlan     = "plan"
	BlobPlanJSON = "plan.json"
	BlobPlanText = "plan.txt"
	// BlobPlanShow is what the tool says about the plan, in its own schema.
	BlobPlanShow = "show.json"
)

// Key is the blob key of one part of a run.
func (s Stack) Key(runID, part string) string { return s.Prefix() + runID + "/" + part }

// Slot is where a run's blobs are kept: below its id, or, while it is quiet, in the place of quiet passes.
func (r Record) Slot() string {
	if r.Quiet {
		return QuietSlot
	}
	return r.Spec.ID
}

// QuietSlot is the place of passes that found nothing.
const QuietSlot = "quiet"

// Key is the blob key of one part of this run.
func (r Record) Key(part string) string { return r.Spec.Stack.Key(r.Slot(), part) }

// LockFileKey is where the stack's dependency lock file is kept between runs.
func (s Stack) LockFileKey() string { return path.Join("locks", s.Namespace, s.Name, s.UID) }
