// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "time"

// Mode is how plans come to be applied (spec.approvePlan).
type Mode string

const (
	// ModeManual: a plan waits until approvePlan names its id.
	ModeManual Mode = "manual"
	// ModeAuto: every plan is applied at once.
	ModeAuto Mode = "auto"
	// ModeDisabled: only drift is looked for.
	ModeDisabled Mode = "disable"
)

// Facts are all that a decision depends on.
type Facts struct {
	Now   time.Time
	Stack Stack
	// Source is the source artifact as it is now.
	Source Source
	// Inputs are the variables, environment and files as they are now.
	Inputs Inputs
	// Config is the digest of the configuration as it is now, spec.destroy included; empty when Source or Inputs are not
	// usable.
	Config string
	// OnlyModules is true when Config is another one than was planned for no other reason than that modules are named by
	// branch, tag or range, and the stack was in order with what was planned.
	OnlyModules bool
	// ReadsWorld says what the program reads of the world while planning, beside what providers know of their resources;
	// empty for nothing.
	ReadsWorld string
	// Kept says that the artifact and inputs of the last apply are kept and usable; deletion falls back on them.
	Kept bool
	// StateSerial is the state's serial as it is now, StateKnown whether it could be read; both zero for own backends
	// and for states that OpenTofu encrypts.
	StateSerial uint64
	StateKnown  bool
	// StateExists is true when a state is stored, even an empty one.
	StateExists bool
	// StateProblem is set when the state cannot be used (corrupt, vanished): nothing may run on it. StateReason is the
	// condition's reason for it.
	StateProblem, StateReason string
	// Takeover is set while the state is that of a deleted stack and nobody has approved a plan on it; nil otherwise.
	Takeover *Takeover
	// Lock is set when somebody else holds the state's lock.
	Lock *Lock
	// Pending is the plan with changes that was made last and not applied by itself, so that it waits for approval (or,
	// with plan-only and disable, is only shown). It is dropped when an apply of it starts or another conclusive plan
	// takes its place, not when one fails.
	Pending *Plan
	// Current is the run in progress; Last the one that ended last, without drift checks that found
	// nothing.
	Current *Run
	Last    *Run
	// Refused is the last attempt that ended before a run could begin.
	Refused Refusal
	// LastDriftCheck is when a plan last compared the stack with the world.
	LastDriftCheck time.Time
	// Circuit is the circuit breaker that concerns the stack; nil when there is none.
	Circuit *Circuit
	// Dependencies are the stacks that must be ready before this one, Cycle names one that they form with it, such as
	// "a -> b -> a".
	Dependencies []Dependency
	Cycle        string
	// Dependants names the stacks that depend on this one, without those that it depends on itself: for one of a cycle
	// has to go first. They are the live ones, whatever finalizers say.
	Dependants []string
}

// Stack is what the object says, and what it remembers.
type Stack struct {
	Generation int64
	Deleting   bool
	Suspended  bool
	Mode       Mode
	// Approved is the plan id that approvePlan names.
	Approved string
	// Allowed is the plan id that a person approved of a stack that applies its plans by itself.
	Allowed string
	// Rejected is the plan id that was rejected.
	Rejected          string
	PlanOnly          bool
	Force             bool
	Destroy           bool
	DestroyOnDeletion bool
	DetectDrift       bool
	Interval          time.Duration
	// WorldInterval is the object's own interval, where Interval says how often drift is looked for.
	WorldInterval time.Duration
	// RetryInterval is the wait after a failure. With a MaxRetryInterval it doubles with each failure in a row and is never
	// longer than that; zero means that it never grows.
	RetryInterval    time.Duration
	MaxRetryInterval time.Duration
	// Requested and Handled are the values of the reconcile request as made and as last served; starting a run serves it,
	// whatever becomes of the run.
	Requested, Handled string
	// PlannedConfig is the configuration of the last conclusive pass; AppliedOnce whether anything was ever applied.
	PlannedConfig string
	AppliedOnce   bool
	// PlannedGeneration is the generation of the object at the last conclusive pass.
	PlannedGeneration int64
	// LastAppliedPlan is the id of the plan that was applied last.
	LastAppliedPlan string
	// ApplyFailed is true when an apply failed and none succeeded since.
	ApplyFailed bool
	// OwnBackend is true when the stack names its own backend: Yuba neither sees its state nor its lock.
	OwnBackend bool
	// MaxFailures is how many attempts in a row may fail before nothing is tried any more; zero for any number.
	MaxFailures int
	// BreakLock is the id of a lock that may be broken, BreakAnyLock says that every one may, as spec.tfstate has it.
	BreakLock    string
	BreakAnyLock bool
	// Held is true during manual work (spec.breakTheGlass); Call is how commands name the stack.
	Held bool
	Call string
	// ReplanOnRevision is true when a pending plan is not to outlive its revision, whatever the new one contains.
	ReplanOnRevision bool
	// PlannedRevision is the source's revision at the last conclusive pass.
	PlannedRevision string
}

// Source is the state of the stack's source.
type Source struct {
	Ready bool
	// Revision is that of the artifact, also of one that cannot be used; empty when there is none.
	Revision string
	// Problem says why it is not ready; Denied that it never will be without a change of the stack, Lasting that a change
	// of the stack or of its source must come first, which is watched.
	Problem string
	Denied  bool
	Lasting bool
}

// Inputs is the state of the stack's inputs.
type Inputs struct {
	Ready bool
	// Problem says what is missing or wrong, for people; Reason is the condition's reason for it. Lasting is true when only a
	// change of the stack mends it.
	Problem string
	Reason  string
	Lasting bool
}

// Refusal is an attempt that ended before a run could begin: the artifact or the inputs were not usable.
type Refusal struct {
	// At is zero when no attempt was refused since the last run.
	At time.Time
	// Failures counts such attempts in a row, this one included.
	Failures int
	// Generation and Revision are the object's and the source's then.
	Generation int64
	Revision   string
}

// Plan is a pending plan.
type Plan struct {
	ID string
	// Config and StateSerial are what it was made for.
	Config      string
	StateSerial uint64
	Destroy     bool
	// Drift is true when a drift check made it.
	Drift bool
	// Usable is false when the plan's bytes are gone or unknown to this server, or a run that was to apply it did not
	// succeed: it must be made again. Its id stays for a new plan with equal changes.
	Usable bool
	// HeldBy is the circuit breaker because of which it waits for a person although the stack applies by itself.
	HeldBy string
}

// Run is a run in progress or one that ended.
type Run struct {
	ID      string
	Purpose string // deploy, drift, delete
	// Apply is true for runs that may change the world. One that plans and applies at once may only once it has begun to.
	Apply bool
	// Canceled is true when the run in hand was already told to stop, or when the one that ended was stopped before it
	// changed anything.
	Canceled bool
	// Config is what Facts.Config was when it was started, whatever artifact it works on.
	Config  string
	Destroy bool

	Failed      bool
	Interrupted bool
	// ApplyStarted is true when an apply began.
	ApplyStarted bool
	// UsedKept is true when the run worked on the kept artifact and inputs.
	UsedKept bool
	// Failures counts unsuccessful runs in a row, this one included.
	Failures int
	// Generation and Revision are the object's and the source's when it was started; zero when unknown.
	Generation int64
	Revision   string
	// Lock is the id of the lock of an own backend that was in its way.
	Lock string
	// Waits is true when trying again before something changes is pointless, Stopped when a person ended the run, after which
	// nothing is tried again before that either.
	Waits, Stopped bool
	Finished       time.Time
}

// Lock is somebody's hold on the state.
type Lock struct {
	ID, Who, Operation string
	Since              time.Time
	// Alive is true when a run in progress has it; Over when a run of this stack left it that has
	// certainly ended.
	Alive, Over bool
}

// Dependency is a stack that must be ready before this one.
type Dependency struct {
	// Name is its namespace and name, as messages call it.
	Name string
	// Denied is true when it is in another namespace and the server does not allow that.
	Denied  bool
	Missing bool
	// Deleting is true when it is on its way out, Observed when its status is about the object as it is now.
	Deleting, Observed, Ready bool
	// SameSource is true when it is made from the same source: then it must have seen the revision that is there now.
	SameSource bool
	// Revisions are those it was last planned and applied with.
	Revisions []string
	// OutputsMissing is the namespace and name of the Secret with its outputs when that is not there although it should be.
	OutputsMissing string
}
