// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"time"
)

// Outcome is how a run ended.
type Outcome string

const (
	// OutcomeSucceeded: everything asked for was done.
	OutcomeSucceeded Outcome = "succeeded"
	// OutcomeFailed: a step failed and said why; what was done before it is in the state.
	OutcomeFailed Outcome = "failed"
	// OutcomeInterrupted: tofu, its runner or the machine died in the middle. What the log says was done but the state
	// lacks is listed; nothing more is applied before a fresh plan.
	OutcomeInterrupted Outcome = "interrupted"
	// OutcomeCanceled: the run was told to stop before it changed anything.
	OutcomeCanceled Outcome = "canceled"
)

// Step is a named part of a run.
type Step string

const (
	StepPrepare Step = "prepare" // fetch and unpack the source, place files and state
	StepInit    Step = "init"
	StepPlan    Step = "plan"
	StepShow    Step = "show"
	StepApply   Step = "apply"
	StepOutput  Step = "output"
)

// Init is what an init came to.
type Init string

const (
	// InitRan: the tool's init ran.
	InitRan Init = "ran"
	// InitUnchanged: nothing that it depends on has changed since the last one of the stack.
	InitUnchanged Init = "unchanged"
	// InitReplayed: what it leaves was known from another stack, and put in place without a process.
	InitReplayed Init = "replayed"
)

// StepReport is what one step cost.
type StepReport struct {
	Step    Step      `json:"step"`
	Started time.Time `json:"started"`
	Wall    Duration  `json:"wall"`
	// CPU is user and system time of the step's processes, providers included; zero when no process was started.
	CPU Duration `json:"cpu,omitempty"`
}

// Result is what came of a run.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// FailedStep and Error say where and why it did not succeed. Error is for people: the tool's own diagnostics with
	// file, line and snippet where it gave them, masked.
	FailedStep Step   `json:"failedStep,omitempty"`
	Error      string `json:"error,omitempty"`
	// Class tells what kind of failure it was, for decisions; see the Failure constants.
	Class Failure `json:"class,omitempty"`
	// Diagnosis is the first thing that the tool itself gave as the reason; nil when it gave none.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`

	// Plan is what the plan step found; nil when it did not get so far.
	Plan *PlanResult `json:"plan,omitempty"`
	// Applied is true when an apply ran to its end.
	Applied bool `json:"applied,omitempty"`
	// ApplyStarted is true when an apply began, whatever became of it.
	ApplyStarted bool `json:"applyStarted,omitempty"`
	// AppliedCounts is what the apply says it did.
	AppliedCounts *Counts `json:"appliedCounts,omitempty"`
	// Outputs are set when Spec.ReadOutputs asked for them: the document that `output -json` printed.
	Outputs json.RawMessage `json:"outputs,omitempty"`
	// Resources are set when Spec.ReadResources asked for them, in the order of the state.
	Resources []Resource `json:"resources,omitempty"`
	// Lock is the lock of an own backend that was in the way.
	Lock *Lock `json:"lock,omitempty"`
	// Text is what a state operation or its preview has to say, masked.
	Text string `json:"text,omitempty"`
	// StateDigest is the digest of the last state shipped; empty when none was written.
	StateDigest string `json:"stateDigest,omitempty"`
	// LockFile is the dependency lock file after init, when the module brings none of its own.
	LockFile []byte `json:"lockFile,omitempty"`
	// Trace is what the log says of an apply that failed or was cut off; nil for other runs, and without a log.
	Trace *Trace `json:"trace,omitempty"`
	// StateListed is true when the tool was asked which resource instances a state has that the server cannot read; StateHas
	// are digests of their addresses, as in Fate.Match.
	StateListed bool     `json:"stateListed,omitempty"`
	StateHas    []string `json:"stateHas,omitempty"`
	// Unproven is what the apply may have done without any state proving it, UnprovenMore counts further objects that are not
	// named, and UnprovenNote is a note on the list. The server writes them.
	Unproven     []Unproven `json:"unproven,omitempty"`
	UnprovenMore int        `json:"unprovenMore,omitempty"`
	UnprovenNote string     `json:"unprovenNote,omitempty"`
	// Lost ("address (id)") and InDoubt (addresses) are what runners without Trace report.
	Lost    []string `json:"lost,omitempty"`
	InDoubt []string `json:"inDoubt,omitempty"`
	// Warnings are the tool's warnings and the runner's own, masked, bounded.
	Warnings []string `json:"warnings,omitempty"`

	// Modules is what is known of the modules from elsewhere that the program calls; nil when it calls none, or when init got
	// them.
	Modules *Modules `json:"modules,omitempty"`
	// SameModules is true when the run ended without a plan because of Spec.Unless.
	SameModules bool `json:"sameModules,omitempty"`
	// Providers is what the runner's store of providers did for the run; nil when init asked it for nothing.
	Providers *ProviderUse `json:"providers,omitempty"`
	// Init is what the run's init came to; empty when the run did not get so far.
	Init Init `json:"init,omitempty"`

	ToolVersion string `json:"toolVersion,omitempty"`
	// ToolName is "tofu" or "terraform".
	ToolName string `json:"toolName,omitempty"`
	// Confined is false when the kernel lacks what confinement needs; then Warnings says so.
	Confined bool         `json:"confined"`
	Steps    []StepReport `json:"steps,omitempty"`
	Finished time.Time    `json:"finished"`
}

// Modules says of the modules from elsewhere that a program calls, and of those that they call, what they read beside their
// own files.
type Modules struct {
	// Moves is the first of them that may be another one the next time, by its place in the program; empty when each is a
	// commit, or one version of a module in a registry.
	Moves string `json:"moves,omitempty"`
	// Whole says why they may read any file of the source; empty when they read none beside those of the root module's own
	// directory.
	Whole string `json:"whole,omitempty"`
	// World names what they read of the world while planning.
	World []string `json:"world,omitempty"`
	// Placed is a digest of which package each call led to.
	Placed string `json:"placed,omitempty"`
}

// Diagnosis is what the tool says is wrong, masked and cut.
type Diagnosis struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	// Address is the resource instance or the provider that it is about.
	Address string `json:"address,omitempty"`
}

// Failure is a kind of failure that calls for a decision of its own.
type Failure string

const (
	// FailureTool: the tool is missing, too old, or of the wrong kind.
	FailureTool Failure = "tool"
	// FailureSource: the source could not be fetched, unpacked or has no such path.
	FailureSource Failure = "source"
	// FailureConfiguration: the module or its inputs are wrong; trying again without a change is pointless.
	FailureConfiguration Failure = "configuration"
	// FailureStalePlan: the saved plan does not fit the state (any more).
	FailureStalePlan Failure = "stale-plan"
	// FailureWorkspace: the tool's workspace could not be selected or made.
	FailureWorkspace Failure = "workspace"
	// FailureLocked: somebody else holds the state's lock.
	FailureLocked Failure = "locked"
	// FailureRefused: the server refused the plan after it had looked at it, as a webhook wants.
	FailureRefused Failure = "refused"
	// FailureState: the state could not be read, or could not be stored although every attempt was made.
	FailureState Failure = "state"
	// FailureLimit: a limit of time or size was reached.
	FailureLimit Failure = "limit"
	// FailureDisk: the disk is full.
	FailureDisk Failure = "disk"
	// FailureKilled: a process was killed by a signal that Yuba did not send.
	FailureKilled Failure = "killed"
	// FailureCanceled: a person ended the run.
	FailureCanceled Failure = "canceled"
)

// Resource is one resource that a state holds.
type Resource struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// ID is what the provider calls it; empty when it has no attribute "id".
	ID string `json:"id"`
}

// Unplaced is how long a run that was prepared waited for others before it could go on: that was at nobody's cost.
func (r *Result) Unplaced() time.Duration {
	if len(r.Steps) < 2 || r.Steps[0].Step != StepPrepare {
		return 0
	}
	return max(r.Steps[1].Started.Sub(r.Steps[0].Started)-time.Duration(r.Steps[0].Wall), 0)
}

// Lock is somebody's hold on a state in an own backend, as the tool tells of it.
type Lock struct {
	ID        string    `json:"id"`
	Who       string    `json:"who,omitempty"`
	Operation string    `json:"operation,omitempty"`
	Created   time.Time `json:"created,omitzero"`
}

// Counts are numbers of resource instances.
type Counts struct {
	Add     int `json:"add"`
	Change  int `json:"change"`
	Destroy int `json:"destroy"`
	Import  int `json:"import,omitempty"`
	Forget  int `json:"forget,omitempty"`
}

// PlanResult is what a plan says.
type PlanResult struct {
	// Changes is true when applying the plan would do anything, outputs included.
	Changes bool   `json:"changes"`
	Counts  Counts `json:"counts"`
	// Digest and Size are those of the saved plan file.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// ChangesDigest is equal for two plans that mean the same; set when Spec.Describe was.
	ChangesDigest string `json:"changesDigest,omitempty"`
	// Drift lists addresses that changed outside of the stack, bounded.
	Drift []string `json:"drift,omitempty"`
	// Fates are those of the objects that the plan makes or destroys, FatesTotal how many there are: very large plans do
	// not name them all.
	Fates      []Fate `json:"fates,omitempty"`
	FatesTotal int    `json:"fatesTotal,omitempty"`
}
