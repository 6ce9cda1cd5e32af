// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// Mode says how plans are approved (spec.approvePlan).
type Mode string

const (
	// ModeManual: a plan waits until approvePlan names its id.
	ModeManual Mode = "manual"
	// ModeAuto: every plan is applied at once.
	ModeAuto Mode = "auto"
	// ModePolicy: the plans that policies free are applied at once, all others wait.
	ModePolicy Mode = "policy"
	// ModeDisabled: drift detection only.
	ModeDisabled Mode = "disable"
)

// Facts are all inputs of a decision.
type Facts struct {
	Now   time.Time
	Stack Stack
	// Source is the current source artifact.
	Source Source
	// Inputs are the current variables, environment and files.
	Inputs Inputs
	// Config is the digest of the current configuration with spec.destroy; empty without usable
	// Source or Inputs.
	Config string
	// OnlyModules: Config differs from the planned one only because modules are named by branch,
	// tag or range, and the planned one was in order.
	OnlyModules bool
	// ReadsWorld names external data that the program reads while planning; empty for none.
	ReadsWorld string
	// Kept: the artifact and inputs of the last apply are usable; deletion falls back on them.
	Kept bool
	// StateSerial is the current serial of the state, StateKnown whether it could be read. Both are
	// zero for custom backends and for encrypted states.
	StateSerial uint64
	StateKnown  bool
	// StateExists: a state is stored, even an empty one.
	StateExists bool
	// StateProblem says why the state cannot be used (corrupt, vanished), which blocks every run;
	// StateReason is the condition's reason.
	StateProblem, StateReason string
	// Takeover is set while the state is a deleted stack's and no plan on it was approved.
	Takeover *Takeover
	// Lock is set when another lock holder has the state's lock.
	Lock *Lock
	// Pending is the last plan with changes that was not applied automatically. It is dropped when
	// its apply starts or another conclusive plan replaces it, not when that one fails.
	Pending *Plan
	// Current is the run in progress; Last the last ended run, without drift checks that found
	// nothing.
	Current *Run
	Last    *Run
	// Refused is the last attempt that ended before a run could begin.
	Refused Refusal
	// LastDriftCheck is the time of the last plan that compared the stack with the real
	// infrastructure.
	LastDriftCheck time.Time
	// Circuit is the circuit breaker that concerns the stack; may be nil.
	Circuit *Circuit
	// Policy is which policies judge the stack's plans.
	Policy Policy
	// Contracts is what the stack publishes and consumes.
	Contracts Contracts
	// Dependencies must be ready before this stack; Cycle describes a cycle, such as "a -> b -> a".
	Dependencies []Dependency
	Cycle        string
	// CycleConsumes: contracts are part of the cycle.
	CycleConsumes bool
	// Dependants names the existing stacks that depend on this one, whatever finalizers say,
	// without its own dependencies: of a cycle, one has to be deleted first.
	Dependants []string
}

// Stack is the object's spec, and the recorded status.
type Stack struct {
	Generation int64
	Deleting   bool
	Suspended  bool
	Mode       Mode
	// Approved is the plan id that approvePlan names.
	Approved string
	// Allowed is the plan id that a person approved on a stack that auto-approves.
	Allowed string
	// Rejected is the plan id that was rejected.
	Rejected          string
	PlanOnly          bool
	Force             bool
	Destroy           bool
	DestroyOnDeletion bool
	DetectDrift       bool
	Interval          time.Duration
	// WorldInterval is the object's own interval; Interval that of drift detection.
	WorldInterval time.Duration
	// RetryInterval is the wait after a failure. It doubles with each failure in a row up to
	// MaxRetryInterval; if that is zero, it stays the same.
	RetryInterval    time.Duration
	MaxRetryInterval time.Duration
	// Requested is the latest reconcile request, Handled the last handled one. Starting a run
	// handles it, whatever the result.
	Requested, Handled string
	// PlannedConfig is that of the last conclusive plan; AppliedOnce: something was ever applied.
	PlannedConfig string
	AppliedOnce   bool
	// PlannedGeneration is the object's generation at the last conclusive plan.
	PlannedGeneration int64
	// LastAppliedPlan is the id of the last applied plan.
	LastAppliedPlan string
	// ApplyFailed: an apply failed and none succeeded since.
	ApplyFailed bool
	// OwnBackend: the stack has a custom backend, whose state and lock Yuba does not see.
	OwnBackend bool
	// MaxFailures is how many attempts in a row may fail; zero for any number.
	MaxFailures int
	// BreakLock is the id of a lock to break; BreakAnyLock allows any (spec.tfstate).
	BreakLock    string
	BreakAnyLock bool
	// Held: spec.breakTheGlass is set; Call is how commands name the stack.
	Held bool
	Call string
	// Moved is set while another home works on the stack.
	Moved *Moved
	// PullRequest describes the pull request that holds the stack; empty for none. Mode is then
	// ModeManual, unless nothing is ever applied, and Force is false.
	PullRequest string
	// ReplanOnRevision: a new revision always replaces a pending plan.
	ReplanOnRevision bool
	// PlannedRevision is the source's revision at the last conclusive plan.
	PlannedRevision string
}

// Source is the state of the stack's source.
type Source struct {
	Ready bool
	// Revision is the artifact's, even of an unusable one; empty if there is none.
	Revision string
	// Problem says why it is not ready. Denied: only a change of the stack helps; Lasting: a change
	// of the stack or of its source, which is watched.
	Problem string
	Denied  bool
	Lasting bool
}

// Inputs is the state of the stack's inputs.
type Inputs struct {
	Ready bool
	// Problem says what is missing or wrong, Reason is the condition's reason. Lasting: only a
	// change of the stack helps.
	Problem string
	Reason  string
	Lasting bool
	// Waits: a contract is not published yet, by the stack WaitsFor. It is watched, and not a
	// failure.
	Waits    bool
	WaitsFor string
	// WaitsUntil is when it stops waiting by itself; zero for never.
	WaitsUntil time.Time
}

// Refusal is an attempt that ended before a run: the artifact or the inputs were not usable.
type Refusal struct {
	// At is zero if no attempt was refused since the last run.
	At time.Time
	// Failures counts such attempts in a row, this one included.
	Failures int
	// Generation and Revision are those of the object and its source at that time.
	Generation int64
	Revision   string
}

// Plan is a pending plan.
type Plan struct {
	ID string
	// Config and StateSerial are those that it was made with.
	Config      string
	StateSerial uint64
	Destroy     bool
	// Drift: a drift check made it. Deletion: it is of the destruction of a deleted object.
	Drift, Deletion bool
	// Usable is false if the plan's file is lost or a run to apply it failed: plan again. A new
	// plan with equal changes gets the same id.
	Usable bool
	// HeldBy is the circuit breaker that holds it although the stack auto-approves.
	HeldBy string
	// Verdict is what policies said about it; nil if they were not asked.
	Verdict *Verdict
	// Contracts is what contracts say about it; nil if they were not asked.
	Contracts *ContractVerdict
}

// Run is a run in progress or one that ended.
type Run struct {
	ID      string
	Purpose string // deploy, drift, delete
	// Apply: the run may change infrastructure. A plan-and-apply run only after its apply began.
	Apply bool
	// Canceled: the run in progress was asked to stop, or the ended one stopped before it changed
	// anything.
	Canceled bool
	// Misplaced: the run has not begun, and waits for a Pod that the stack does not ask for any
	// more.
	Misplaced bool
	// Config is Facts.Config at the start of the run, whatever artifact it uses.
	Config  string
	Destroy bool

	Failed      bool
	Interrupted bool
	// ApplyStarted: an apply began.
	ApplyStarted bool
	// UsedKept: the run used the kept artifact and inputs. OnlyPlanned: it planned changes, and did not
	// apply them.
	UsedKept, OnlyPlanned bool
	// Failures counts unsuccessful runs in a row, this one included.
	Failures int
	// Generation and Revision are those of the object and source at its start; zero if unknown.
	Generation int64
	Revision   string
	// Lock is the id of the custom backend's lock that blocked it.
	Lock string
	// Waits: a retry before something changes is pointless. Stopped: a person ended the run, so no
	// retry before a change either.
	Waits, Stopped bool
	// RefusedBy are the policies, as in Policy.Set, that refused the configuration after init; empty if
	// they did not. RefusedUntil is when they may say something else, although nothing changed; zero for
	// never.
	RefusedBy    string
	RefusedUntil time.Time
	Finished     time.Time
}

// Lock is another holder's lock of the state.
type Lock struct {
	ID, Who, Operation string
	Since              time.Time
	// Alive: a run in progress has it. Over: a run of this stack left it and has certainly ended.
	Alive, Over bool
}

// Dependency is a stack that must be ready before this one.
type Dependency struct {
	// Name is its namespace and name, as messages call it.
	Name string
	// Denied: it is in another namespace, which the server does not allow.
	Denied  bool
	Missing bool
	// Observed: its status describes the current generation.
	Deleting, Observed, Ready bool
	// SameSource: both use the same source, so it must have the source's current revision.
	SameSource bool
	// Revisions are the last planned and applied ones.
	Revisions []string
	// OutputsMissing is the missing Secret of its outputs, as namespace and name.
	OutputsMissing string
}
