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
	// OutcomeSucceeded: everything requested was done.
	OutcomeSucceeded Outcome = "succeeded"
	// OutcomeFailed: a step failed. The state includes the changes made before.
	OutcomeFailed Outcome = "failed"
	// OutcomeInterrupted: tofu, its runner or the machine died during the run. Yuba lists unproven
	// resources, and applies nothing more before a fresh plan.
	OutcomeInterrupted Outcome = "interrupted"
	// OutcomeCanceled: the run stopped before it changed anything.
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

// Init is the result of an init.
type Init string

const (
	// InitRan: the tool's init ran.
	InitRan Init = "ran"
	// InitUnchanged: none of its inputs has changed since the stack's last init.
	InitUnchanged Init = "unchanged"
	// InitReplayed: the result of another stack's init was put in place, without a process.
	InitReplayed Init = "replayed"
)

// StepReport is the cost of one step.
type StepReport struct {
	Step    Step      `json:"step"`
	Started time.Time `json:"started"`
	Wall    Duration  `json:"wall"`
	// CPU is the time of the step's processes, including providers; zero if there were none.
	CPU Duration `json:"cpu,omitempty"`
}

// Result is the result of a run.
type Result struct {
	Outcome Outcome `json:"outcome"`
	// FailedStep and Error say where and why it failed. Error is for people: the tool's own
	// diagnostics if there are any, masked.
	FailedStep Step   `json:"failedStep,omitempty"`
	Error      string `json:"error,omitempty"`
	// Class is the kind of failure, for decisions.
	Class Failure `json:"class,omitempty"`
	// Diagnosis is the first reason that the tool itself gave; nil if none.
	Diagnosis *Diagnosis `json:"diagnosis,omitempty"`

	// Plan is the result of the plan step; nil if the run did not reach it.
	Plan *PlanResult `json:"plan,omitempty"`
	// Applied is true if an apply completed, ApplyStarted if one began.
	Applied      bool `json:"applied,omitempty"`
	ApplyStarted bool `json:"applyStarted,omitempty"`
	// AppliedCounts are the counts that the apply reported.
	AppliedCounts *Counts `json:"appliedCounts,omitempty"`
	// Outputs is the document that `output -json` printed, for Spec.ReadOutputs.
	Outputs json.RawMessage `json:"outputs,omitempty"`
	// Resources are in the order of the state, for Spec.ReadResources.
	Resources []Resource `json:"resources,omitempty"`
	// State are the resources in the state, for StateList, without their attributes.
	State []StateResource `json:"state,omitempty"`
	// StateMore counts the resources that State leaves out, because there are too many.
	StateMore int `json:"stateMore,omitempty"`
	// Lock is the lock of a custom backend that another holds.
	Lock *Lock `json:"lock,omitempty"`
	// Text is the output of a state operation or its preview, masked.
	Text string `json:"text,omitempty"`
	// StateDigest is the digest of the last shipped state; empty if none was written.
	StateDigest string `json:"stateDigest,omitempty"`
	// LockFile is the dependency lock file after init, for modules without one.
	LockFile []byte `json:"lockFile,omitempty"`
	// Trace describes a failed or interrupted apply according to the log; nil without one.
	Trace *Trace `json:"trace,omitempty"`
	// StateListed is true if the tool listed the instances in a state that the server cannot read;
	// StateHas are digests of their addresses, as in Fate.Match.
	StateListed bool     `json:"stateListed,omitempty"`
	StateHas    []string `json:"stateHas,omitempty"`
	// Unproven are the resources that no state proves, UnprovenMore counts those beyond the list,
	// UnprovenNote is a note on it. The server writes them.
	Unproven     []Unproven `json:"unproven,omitempty"`
	UnprovenMore int        `json:"unprovenMore,omitempty"`
	UnprovenNote string     `json:"unprovenNote,omitempty"`
	// Lost ("address (id)") and InDoubt (addresses) come from runners without Trace.
	Lost    []string `json:"lost,omitempty"`
	InDoubt []string `json:"inDoubt,omitempty"`
	// Warnings of the tool and the runner, masked, limited in number.
	Warnings []string `json:"warnings,omitempty"`

	// Modules describes modules from elsewhere; nil without any, or if init got them.
	Modules *Modules `json:"modules,omitempty"`
	// SameModules is true if the run ended without a plan because of Spec.Unless.
	SameModules bool `json:"sameModules,omitempty"`
	// Providers is how the run used the runner's store of providers; nil if init did not.
	Providers *ProviderUse `json:"providers,omitempty"`
	// Uses are the resolved modules and providers; nil if init did not get so far.
	Uses *Uses `json:"uses,omitempty"`
	// Notices are warnings about their versions, such as revoked ones. The server writes them.
	Notices []string `json:"notices,omitempty"`
	// Replaced counts the calls that got the module of Spec.Replace.
	Replaced int `json:"replaced,omitempty"`
	// Init is the result of the run's init; empty if the run did not reach it.
	Init Init `json:"init,omitempty"`

	ToolVersion string `json:"toolVersion,omitempty"`
	// ToolName is "tofu" or "terraform".
	ToolName string `json:"toolName,omitempty"`
	// Confined is false if the kernel lacks what confinement needs; Warnings says so, too.
	Confined bool         `json:"confined"`
	Steps    []StepReport `json:"steps,omitempty"`
	Finished time.Time    `json:"finished"`
}

// Modules describes the reads of modules from elsewhere, called directly or not, apart from their
// own files.
type Modules struct {
	// Moves is the first of them, by its place in the program, that may differ next time; empty if
	// each is a commit, or one version of a module in a registry.
	Moves string `json:"moves,omitempty"`
	// Whole says why they may read any file of the source; empty if they read only the root
	// module's own directory.
	Whole string `json:"whole,omitempty"`
	// World names the external data that they read while planning.
	World []string `json:"world,omitempty"`
	// Placed is a digest of the packages of all calls.
	Placed string `json:"placed,omitempty"`
}

// Diagnosis is an error of the tool, masked and cut.
type Diagnosis struct {
	Summary string `json:"summary"`
	Detail  string `json:"detail,omitempty"`
	// Address is the resource instance or provider concerned.
	Address string `json:"address,omitempty"`
}

// Failure is a kind of failure that Yuba treats specially.
type Failure string

const (
	// FailureTool: the tool is missing, too old, or of the wrong kind.
	FailureTool Failure = "tool"
	// FailureSource: the source cannot be fetched or unpacked, or lacks the path.
	FailureSource Failure = "source"
	// FailureConfiguration: the module or its inputs are wrong and must be changed.
	FailureConfiguration Failure = "configuration"
	// FailureStalePlan: the saved plan does not fit the state.
	FailureStalePlan Failure = "stale-plan"
	// FailureWorkspace: the tool's workspace could not be selected or created.
	FailureWorkspace Failure = "workspace"
	// FailureLocked: another lock holder has the state.
	FailureLocked Failure = "locked"
	// FailureRefused: a review refused the plan.
	FailureRefused Failure = "refused"
	// FailurePolicy: policies refused the configuration after init.
	FailurePolicy Failure = "policy"
	// FailureState: the state could not be read, or could not be stored despite all retries.
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

// Refused reports whether a review or policies refused the plan.
func (f Failure) Refused() bool { return f == FailureRefused || f == FailurePolicy }

// Resource is one resource in a state.
type Resource struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// ID is the attribute "id"; empty if there is none.
	ID string `json:"id"`
}

// StateResource is a resource in a state, without its attributes.
type StateResource struct {
	Address  string `json:"address"`
	Mode     string `json:"mode"`
	Type     string `json:"type"`
	Name     string `json:"name"`
	Provider string `json:"provider"`
	ID       string `json:"id,omitempty"`
	Deposed  string `json:"deposed,omitempty"`
	Tainted  bool   `json:"tainted,omitempty"`
}

// Unplaced is how long a prepared run waited for a place. This is not part of its cost.
func (r *Result) Unplaced() time.Duration {
	if len(r.Steps) < 2 || r.Steps[0].Step != StepPrepare {
		return 0
	}
	return max(r.Steps[1].Started.Sub(r.Steps[0].Started)-time.Duration(r.Steps[0].Wall), 0)
}

// Lock is the lock of a custom backend, as the tool reports it.
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

// PlanResult is the content of a plan.
type PlanResult struct {
	// Changes is true if applying the plan would change anything, including outputs.
	Changes bool   `json:"changes"`
	Counts  Counts `json:"counts"`
	// Digest and Size are those of the saved plan file.
	Digest string `json:"digest,omitempty"`
	Size   int64  `json:"size,omitempty"`
	// ChangesDigest is equal for two plans with the same changes; set with Spec.Describe.
	ChangesDigest string `json:"changesDigest,omitempty"`
	// Drift lists addresses that changed outside of the stack, limited in number.
	Drift []string `json:"drift,omitempty"`
	// Fates are the objects that the plan creates or destroys. Very large plans do not name all of
	// them; FatesTotal is their number.
	Fates      []Fate `json:"fates,omitempty"`
	FatesTotal int    `json:"fatesTotal,omitempty"`
}
