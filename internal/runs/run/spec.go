// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"time"
)

// Operation is what a run does to its stack.
type Operation string

const (
	// OperationPlan makes a plan, saves it and changes nothing. Drift detection is a plan, too.
	OperationPlan Operation = "plan"
	// OperationApply applies one exact saved plan, without planning again.
	OperationApply Operation = "apply"
	// OperationPlanAndApply plans and, when there is something to do and the server agrees, applies that plan.
	OperationPlanAndApply Operation = "plan-and-apply"
	// OperationState changes the state and nothing else, as Spec.StateChange says, under the state's lock.
	OperationState Operation = "state"
	// OperationShell prepares the working directory and hands it to a person under the state's lock.
	OperationShell Operation = "shell"
)

// Purpose says why a run was started. It changes nothing in what the runner does; records and people read it.
type Purpose string

const (
	PurposeDeploy Purpose = "deploy"
	PurposeDrift  Purpose = "drift"
	PurposeDelete Purpose = "delete"
)

// Stack names the object a run belongs to.
type Stack struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// UID tells a stack from an earlier one of the same name.
	UID string `json:"uid"`
}

func (s Stack) String() string { return s.Namespace + "/" + s.Name }

// StackOf names a stack by its object.
func StackOf[UID ~string](o interface {
	GetNamespace() string
	GetName() string
	GetUID() UID
},
) Stack {
	return Stack{Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())}
}

// Spec is everything a runner needs to know to carry out a run. Bytes that can be large are named by digest and
// fetched separately.
type Spec struct {
	// Protocol is the version of this document, see [ProtocolVersion].
	Protocol  int       `json:"protocol"`
	ID        string    `json:"id"`
	Stack     Stack     `json:"stack"`
	Operation Operation `json:"operation"`
	Purpose   Purpose   `json:"purpose"`
	// Destroy plans the destruction of everything the stack manages.
	Destroy bool `json:"destroy,omitempty"`

	// Artifact is the source tree, a gzipped tar archive.
	Artifact Artifact `json:"artifact"`
	// Part is what of the source the run reads, when the server knows that it is not all of it. A runner may leave out the
	// rest.
	Part *Part `json:"part,omitempty"`
	// Path is the root module inside the artifact, relative; empty means its root.
	Path string `json:"path,omitempty"`
	// LockFile is the recorded dependency lock file, used when the module brings none.
	LockFile []byte `json:"lockFile,omitempty"`
	// Upgrade runs init with -upgrade.
	Upgrade bool `json:"upgrade,omitempty"`
	// Unless ends the run before it plans when the modules from elsewhere that the program calls are those of this digest, as
	// in Modules.Placed; empty for a run that plans in any case.
	Unless string `json:"unless,omitempty"`

	// Workspace is what terraform.workspace evaluates to.
	Workspace string  `json:"workspace"`
	Backend   Backend `json:"backend"`
	// Variables is the content of the generated tfvars file, by name.
	Variables map[string]Variable `json:"variables,omitempty"`
	// Env is the environment tofu gets beside the few names the runner itself sets.
	Env []EnvVar `json:"env,omitempty"`
	// VarFiles are files of variables, relative to the root of the artifact, in the order in which they are given to the
	// tool: later ones win, and all of them over Variables.
	VarFiles []string `json:"varFiles,omitempty"`
	// Files are written before the tool starts; they replace files of the artifact.
	Files []File `json:"files,omitempty"`
	// CLIConfig is the stack's own configuration file of the tool. It holds credentials.
	CLIConfig []byte `json:"cliConfig,omitempty"`
	// Secrets are texts that are masked beside the values marked as secret: settings of the backend, and what templates
	// took from Secrets.
	Secrets []string `json:"secrets,omitempty"`

	Targets     []string `json:"targets,omitempty"`
	Parallelism int32    `json:"parallelism,omitempty"`
	// RefreshOnApply compares state and world once more before a saved plan is applied and refuses to apply it when
	// they have parted (spec.refreshBeforeApply).
	RefreshOnApply bool `json:"refreshOnApply,omitempty"`

	// NoPlanLock plans without the lock of an own backend (spec.plan.lock). Plans on the managed backend take none.
	NoPlanLock bool `json:"noPlanLock,omitempty"`
	// LockTimeout is how long the tool waits for the lock of an own backend; zero means not at all.
	LockTimeout Duration `json:"lockTimeout,omitempty"`
	// ForceUnlock is the id of the lock of an own backend to break before the plan; empty for none.
	ForceUnlock string `json:"forceUnlock,omitempty"`
	// StateChange is what OperationState does.
	StateChange *StateChange `json:"stateChange,omitempty"`

	// Plan is the saved plan to apply, for OperationApply.
	Plan *PlanRef `json:"plan,omitempty"`
	// Describe asks for the readable plan (one more process); a run that applies at once goes without.
	Describe bool `json:"describe,omitempty"`
	// Review asks the server for its word on each plan with changes, before the plan is kept or applied. It needs
	// Describe.
	Review bool `json:"review,omitempty"`
	// PlanText asks for the plan as the tool prints it for people (one more process). It needs Describe, which tells what
	// is to be masked.
	PlanText bool `json:"planText,omitempty"`
	// PlanDocument asks for what the tool says about the plan as JSON, in the tool's own schema with sensitive values
	// replaced. It needs Describe.
	PlanDocument bool `json:"planDocument,omitempty"`
	// Direct says that nothing of the stack exists yet, as far as the server knows, and that nobody looks at the plan: a
	// plan-and-apply run may plan and apply with one process. A runner that finds a state, or knows nothing of this, plans
	// first.
	Direct bool `json:"direct,omitempty"`
	// ReadOutputs asks the tool for the outputs after an apply, when the server cannot read the state itself: an own
	// backend, or an encrypted state.
	ReadOutputs bool `json:"readOutputs,omitempty"`
	// ReadResources asks the tool for the inventory after an apply, when the server cannot read the state itself.
	ReadResources bool `json:"readResources,omitempty"`
	// ReadUnchanged asks for the two above also after a plan that found nothing to do: the server does not know them yet.
	ReadUnchanged bool `json:"readUnchanged,omitempty"`
	// ListState asks the tool which resource instances the state has, when the server cannot read it: the list proves what
	// earlier interrupted applies created.
	ListState bool `json:"listState,omitempty"`

	Tool   Tool   `json:"tool"`
	Limits Limits `json:"limits"`
}

// Part is a part of a source: directories, with all that is below, and files, relative to the root.
type Part struct {
	Paths []string `json:"paths"`
	// Digest is the same for two sources whose parts are equal, whatever else is in them.
	Digest string `json:"digest"`
}

// Variable is the value of an input variable.
type Variable struct {
	Value json.RawMessage `json:"value"`
	// Secret is true for values that came from a Secret or belong to a sensitive variable: they are masked wherever
	// text leaves the run.
	Secret bool `json:"secret,omitempty"`
	// Open is true for outputs of another stack that are not sensitive. They are shown, unless another input with that value is secret.
	Open bool `json:"open,omitempty"`
}

// EnvVar is one name of tofu's environment.
type EnvVar struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Secret bool   `json:"secret,omitempty"`
	// Open is as in a [Variable].
	Open bool `json:"open,omitempty"`
}

// FileLocation is a directory that files of a run are written to.
type FileLocation string

const (
	// FileInModule is the directory of the root module.
	FileInModule FileLocation = "module"
	// FileInHome is the run's home directory, which nothing else shares.
	FileInHome FileLocation = "home"
)

// File is a file that is written (0600) before the tool starts.
type File struct {
	Location FileLocation `json:"location"`
	// Path is relative and does not leave the location.
	Path    string `json:"path"`
	Content []byte `json:"content"`
	// Secret is true for files whose content is masked and that go when the run is over.
	Secret bool `json:"secret,omitempty"`
}

// StateVerb is a change of the state alone, as the tool's "state" commands and import make it.
type StateVerb string

const (
	// StateMove renames a resource: Args are its old and its new address.
	StateMove StateVerb = "mv"
	// StateRemove forgets resources without destroying them: Args are their addresses.
	StateRemove StateVerb = "rm"
	// StateImport takes over an object that exists: Args are the address and the provider's id of the object.
	StateImport StateVerb = "import"
	// StatePush replaces the state by State.
	StatePush StateVerb = "push"
	// StateRollback replaces the state by the stored version that Args names.
	StateRollback StateVerb = "rollback"
)

// StateChange is what an OperationState run does.
type StateChange struct {
	Verb StateVerb `json:"verb"`
	Args []string  `json:"args,omitempty"`
	// State is the new state, for StatePush.
	State []byte `json:"state,omitempty"`
	// Force lets StatePush replace a state of another lineage or a higher serial.
	Force bool `json:"force,omitempty"`
	// Preview says what would be done and does not do it.
	Preview bool `json:"preview,omitempty"`
}

// Artifact names a source archive.
type Artifact struct {
	// Digest is "sha256:" and the archive's hex digest.
	Digest   string `json:"digest"`
	Revision string `json:"revision"`
	Size     int64  `json:"size"`
}

// PlanRef names a saved plan.
type PlanRef struct {
	// ID is what people approve, such as plan-main-1a2b3c4d5e.
	ID string `json:"id"`
	// RunID is the run that made it; its bytes are kept there.
	RunID string `json:"runID"`
	// Digest is "sha256:" and the hex digest of the plan file.
	Digest string `json:"digest"`
}

// BackendKind says who keeps the state.
type BackendKind string

const (
	// BackendManaged: Yuba keeps the state. tofu writes a file, the runner ships it.
	BackendManaged BackendKind = "managed"
	// BackendOwn: tofu talks to a backend the stack names, and locks there.
	BackendOwn BackendKind = "own"
)

// Backend is the stack's backend configuration.
type Backend struct {
	Kind BackendKind `json:"kind"`
	// Override is the content of the override file put beside the root module; empty for none.
	Override string `json:"override,omitempty"`
	// Settings complete the backend's configuration at init. They may be secret: they are given in a file, not in
	// arguments.
	Settings map[string]string `json:"settings,omitempty"`
}

// Tool is the program to run.
type Tool struct {
	// Name is "tofu" or "terraform"; empty means what the server was started with.
	Name string `json:"name,omitempty"`
	// Version is a constraint such as ">= 1.9"; empty means any.
	Version string `json:"version,omitempty"`
}

// Limits bound what one run may take.
type Limits struct {
	// Timeout is the longest one tofu process may take before it is asked to stop.
	Timeout Duration `json:"timeout"`
	// Grace is how long a process may take to stop after it was asked.
	Grace Duration `json:"grace"`
	// Sizes in bytes. A log is cut (and says so), a plan, state or archive over its limit fails the run.
	LogBytes     int64 `json:"logBytes"`
	PlanBytes    int64 `json:"planBytes"`
	StateBytes   int64 `json:"stateBytes"`
	ArchiveBytes int64 `json:"archiveBytes"`
	// UnpackedBytes and Entries bound what an archive may expand to.
	UnpackedBytes int64 `json:"unpackedBytes"`
	Entries       int   `json:"entries"`
	// Run is what a run may take at one moment with all that it starts, Namespace what all runs of its namespace may together.
	// Zero means no limit, except for the memory of a run, where it means half of what the machine or the service has; use
	// Unlimited for none.
	Run       Resources `json:"run,omitzero"`
	Namespace Resources `json:"namespace,omitzero"`
	// OpenFiles counts open files and connections of each process.
	OpenFiles int64 `json:"openFiles,omitempty"`
	// Network is NoNetwork for a run that connects to nobody; empty means the machine's network. Listen are the ports that
	// its programs may listen on, beside those that the kernel chooses.
	Network string   `json:"network,omitempty"`
	Listen  []uint16 `json:"listen,omitempty"`
}

// Unlimited is a limit that nobody meets.
const Unlimited = 1 << 60

// Resources are what programs share with everybody else on the machine.
type Resources struct {
	// Processes counts processes and their threads.
	Processes int64 `json:"processes,omitempty"`
	// MemoryBytes is what processes have in memory, without what is of files on disks; DiskBytes what is in the run's
	// directories.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	DiskBytes   int64 `json:"diskBytes,omitempty"`
	// Files counts files, links and directories in the run's directories.
	Files int64 `json:"files,omitempty"`
}

// The networks that runs can have.
const (
	HostNetwork = "host"
	NoNetwork   = "none"
)

// DefaultLimits are generous for honest stacks and finite for others.
func DefaultLimits() Limits {
	const mib = 1 << 20
	return Limits{
		Timeout: Duration(2 * time.Hour), Grace: Duration(5 * time.Minute),
		LogBytes: 64 * mib, PlanBytes: 256 * mib, StateBytes: 256 * mib,
		// As internal/archive has them, so that what is pushed is what is unpacked.
		ArchiveBytes: 1024 * mib, UnpackedBytes: 4 * 1024 * mib, Entries: 200_000,
		Run: Resources{Processes: 1024, DiskBytes: 16 * 1024 * mib, Files: 1_000_000}, OpenFiles: 16384,
	}
}

// Duration is a time.Duration that reads and writes as text ("2h0m0s").
type Duration time.Duration

// MarshalText writes the duration as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads what time.ParseDuration reads.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("read duration: %w", err)
	}
	*d = Duration(v)
	return nil
}
