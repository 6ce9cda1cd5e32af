// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"path"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/scope"
)

// Record is a stored run. It includes secrets (variables and environment) and the token;
// [Record.Public] omits them.
type Record struct {
	Spec    Spec      `json:"spec"`
	Token   string    `json:"token,omitempty"`
	Created time.Time `json:"created"`
	// Runner and Started are set when a runner takes it, Home unless it is HomeLocal.
	Runner  string     `json:"runner,omitempty"`
	Home    string     `json:"home,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// Place is where it may execute; nil for beside the server.
	Place *Place `json:"place,omitempty"`
	// LockHeld is true from the permission to apply until the state's lock is released.
	LockHeld bool `json:"lockHeld,omitempty"`
	// Permitted is true once the apply may begin. Then only a person can stop the run or, while it
	// is Planning, its stack.
	Permitted bool `json:"permitted,omitempty"`
	// Planning is true for a permitted run that plans and applies with one process, until the
	// process begins to change something.
	Planning bool `json:"planning,omitempty"`
	// StoppedBy is the person who stopped the run.
	StoppedBy string  `json:"stoppedBy,omitempty"`
	Result    *Result `json:"result,omitempty"`
	// PlanDigest is the digest of the run's only plan, once a part of it has arrived.
	PlanDigest string `json:"planDigest,omitempty"`
	// PlanSums are the SHA-256 sums of the plan and of its readable forms, by the blob's name.
	PlanSums map[string]string `json:"planSums,omitempty"`
	// State names the managed state. Runners only see its bytes.
	State StateRef `json:"state,omitzero"`
	// StateMark is the state that the run got, then the last one it shipped; StatesStored is the
	// sequence number of that.
	StateMark    *StateMark `json:"stateMark,omitempty"`
	StatesStored int        `json:"statesStored,omitempty"`
	// Began is the state at the start of the apply; nil before. Planned are the changes that the
	// runner announced then, PlannedTotal their number.
	Began        *StateMark `json:"began,omitempty"`
	Planned      []Fate     `json:"planned,omitempty"`
	PlannedTotal int        `json:"plannedTotal,omitempty"`
	// PlannedNone is true if the runner announced that there are no changes.
	PlannedNone bool `json:"plannedNone,omitempty"`
	// Generation is the object's when the run was requested.
	Generation int64 `json:"generation,omitempty"`
	// Config is the digest of the configuration. UsedKept: it is the configuration of the last
	// apply.
	Config   string `json:"config,omitempty"`
	UsedKept bool   `json:"usedKept,omitempty"`
	// WholeConfig is the digest over the whole archive if Config covers only what the stack reads.
	WholeConfig string `json:"wholeConfig,omitempty"`
	// SettledConfig is, for a program that calls modules from elsewhere, the digest that applies if
	// the run finds that they cannot change and read nothing else of the source.
	SettledConfig string `json:"settledConfig,omitempty"`
	// Inputs is the part of the configuration that is not in the spec.
	Inputs *Inputs `json:"inputs,omitempty"`
	// Pins are the revisions of contracts that the run reads.
	Pins []Pin `json:"pins,omitempty"`
	// Announced runs are named in the stack's status, where a restarted server finds them.
	Announced bool `json:"announced,omitempty"`
	// Quiet runs without findings get no record of their own: those of a stack share one place.
	Quiet bool `json:"quiet,omitempty"`
	// Trigger is the cause of the run, such as "generation 3" or "drift interval".
	Trigger string `json:"trigger,omitempty"`
	// Policies identifies the policies that bound the stack when the run began.
	Policies string `json:"policies,omitempty"`
	// RefusedUntil is when policies that refused the configuration after init may say something else,
	// although nothing changed; zero for never.
	RefusedUntil time.Time `json:"refusedUntil,omitzero"`
	// HeldBy is the circuit breaker that holds the plan of a stack with automatic approval.
	HeldBy string `json:"heldBy,omitempty"`
	// By is the person who requested the run, empty if the stack did.
	By string `json:"by,omitempty"`
	// Urgency is empty for UrgencyChange.
	Urgency Urgency `json:"urgency,omitempty"`
	// Passes counts the quiet passes in a row that found nothing, including this one.
	Passes int `json:"passes,omitempty"`
	// Waits is what a run in hand waits for besides its turn. It is not stored.
	Waits string `json:"-"`
	// StateOwners are the owners of the state when the run locked it. They are not stored.
	StateOwners StateOwners `json:"-"`
}

// Inputs are the part of a stack's configuration that is not in its spec, to find which inputs
// changed between two runs.
type Inputs struct {
	// Part is the digest of the part of the source that the stack reads, Dirs its directories.
	// Otherwise the whole archive counts, for the reason in Whole.
	Part  string   `json:"part,omitempty"`
	Dirs  []string `json:"dirs,omitempty"`
	Whole string   `json:"whole,omitempty"`
	// Unsettled is Part if modules from elsewhere had been known to be settled.
	Unsettled string `json:"unsettled,omitempty"`
	// Outputs are the digests of the outputs of its dependencies, by name.
	Outputs map[string]string `json:"outputs,omitempty"`
}

// MayBe is Part, or the part that was found later.
func (i Inputs) MayBe() string { return cmp.Or(i.Part, i.Unsettled) }

// StateOwners are the stacks, and the tenant if any, with resources in a state.
type StateOwners struct {
	Stacks []StateOwner
	Scope  scope.Scope
}

// StateOwner is a stack with resources in a state.
type StateOwner struct{ Name, UID string }

// Urgency says who waits for a run. The queue orders by it first.
type Urgency string

const (
	// UrgencyAwaited is for requests and approvals of people, and for deletions.
	UrgencyAwaited Urgency = "awaited"
	// UrgencyChange is for changed inputs.
	UrgencyChange Urgency = "change"
	// UrgencyReview is for speculative plans.
	UrgencyReview Urgency = "review"
	// UrgencyDrift is for drift detection.
	UrgencyDrift Urgency = "drift"
)

// WaitsForRunner begins Record.Waits while an older runner must exit; the names of stacks follow.
const WaitsForRunner = "Waiting for the runner of an earlier server to finish "

// WaitsForPod begins Record.Waits while there is no Pod for the run; the reason follows.
const WaitsForPod = "Waiting for a runner Pod: "

// WaitsForReport begins Record.Waits while the run's runner does not report; what is known follows.
const WaitsForReport = "Waiting for the run's Pod to report: "

// WaitsForState begins Record.Waits while the API refuses the state; the reason follows.
const WaitsForState = "The run's state cannot be stored, so it keeps its lock and tries again. Nothing is lost: the state is kept as a version. "

// WaitsForTool begins Record.Waits while Yuba downloads the tool of the run; what it does follows.
const WaitsForTool = "Waiting for the run's tool: "

// ToolProgress separates the progress of that download, which changes often, from the rest.
const ToolProgress = ": so far "

// StateRef names a managed state and the labels its Secret gets.
type StateRef struct {
	Namespace string            `json:"namespace"`
	Workspace string            `json:"workspace"`
	Suffix    string            `json:"suffix"`
	Labels    map[string]string `json:"labels,omitempty"`
	// Stack is the stack's name, for messages.
	Stack string `json:"stack,omitempty"`
	// Existing is true if a state has existed, so that a missing one is an error.
	Existing bool `json:"existing,omitempty"`
	// Scope is the stack's tenant.
	Scope scope.Scope `json:"tenant,omitempty"`
	// Proposed is a refactoring whose state the run gets in place of the current one; for speculative
	// plans only.
	Proposed string `json:"proposed,omitempty"`
}

// StateMark identifies one state. The zero mark means that none has ever existed.
type StateMark struct {
	Serial  uint64 `json:"serial"`
	Lineage string `json:"lineage"`
	Digest  string `json:"digest"`
}

// Changing reports whether the run may be changing something, so that it must not be abandoned.
func (r Record) Changing() bool {
	return r.Spec.Operation == OperationApply || r.Permitted && !r.Planning
}

// Reads reports whether the run only reads.
func (r Record) Reads() bool {
	c := r.Spec.StateChange
	return c != nil && (c.Verb.Reads() || c.Verb.Inspects())
}

// ErrNotFound means that a run is not stored.
var ErrNotFound = errors.New("there is no such run")

// ErrDamaged means that a run is stored, but its record is permanently unreadable.
var ErrDamaged = errors.New("the record is damaged")

// Public returns the record without variables, environment, outputs and token.
func (r Record) Public() Record {
	r.Token = ""
	r.Spec.Variables = nil
	r.Spec.Env = nil
	r.Spec.LockFile, r.Spec.CLIConfig, r.Spec.Files = nil, nil, nil
	r.Spec.Backend.Settings, r.Spec.Secrets = nil, nil
	r = r.WithoutPushedState()
	if change := r.Spec.StateChange; change != nil && change.Migration != nil { // the change is a copy
		m := *change.Migration
		m.Other.Settings, m.Env, m.Destination = nil, nil, nil
		change.Migration = &m
	}
	if r.Result != nil {
		result := *r.Result
		result.Outputs, result.LockFile = nil, nil
		r.Result = &result
	}
	return r
}

// PublicTo is Public for a user. What a run read of a state is only for the person who asked: it can have what
// others may not read.
func (r Record) PublicTo(user string) Record {
	r = r.Public()
	if change := r.Spec.StateChange; change != nil && change.Verb.Reads() && r.By != user {
		change.Input = nil // the change and the result are copies
		if result := r.Result; result != nil {
			result.Text, result.State, result.StateMore = "", nil, 0
			if result.FailedStep != StepInit { // others may quote values
				result.Diagnosis, result.Warnings = nil, nil
				if result.Error != "" {
					result.Error = "only " + cmp.Or(r.By, "its requester") + " can read why it failed"
				}
			}
		}
	}
	return r
}

// NewID returns a new run id: the time, so that ids sort by age, and 40 random bits.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102-150405.000") + "-" + randomHex(5)
}

// tokenBytes are the random bytes of a token.
const tokenBytes = 32

// NewToken returns a bearer token of 256 random bits.
func NewToken() string { return randomHex(tokenBytes) }

// IsToken reports whether text has the form of a token. Damaged tokens rarely have.
func IsToken(text string) bool {
	_, err := hex.DecodeString(text)
	return err == nil && len(text) == hex.EncodedLen(tokenBytes)
}

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // never fails, see its documentation
	return hex.EncodeToString(b)
}

// Prefix is the common prefix of the blobs of a stack's runs.
func (s Stack) Prefix() string { return path.Join("runs", s.Namespace, s.Name, s.UID) + "/" }

// The blobs of one run, below its key.
const (
	BlobRecord   = "record.json"
	BlobLog      = "log.jsonl"
	BlobPlan     = "plan"
	BlobPlanJSON = "plan.json"
	BlobPlanText = "plan.txt"
	// BlobPlanShow is the plan in the tool's own JSON schema.
	BlobPlanShow = "show.json"
	// BlobPlanOutputs has the planned changes of some outputs in that schema, not redacted.
	BlobPlanOutputs = "outputs.json"
)

// Key is the blob key of one part of a run.
func (s Stack) Key(runID, part string) string { return s.Prefix() + runID + "/" + part }

// Slot is the place of a run's blobs: below its id, or the place of quiet passes.
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

// LockFileKey is the blob key of the stack's dependency lock file.
func (s Stack) LockFileKey() string { return path.Join("locks", s.Namespace, s.Name, s.UID) }
