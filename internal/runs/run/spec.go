// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// Operation is what a run does to its stack.
type Operation string

const (
	// OperationPlan makes and saves a plan, also for drift detection. It changes nothing.
	OperationPlan Operation = "plan"
	// OperationApply applies one exact saved plan, without planning again.
	OperationApply Operation = "apply"
	// OperationPlanAndApply plans and, if the server agrees, applies the changes.
	OperationPlanAndApply Operation = "plan-and-apply"
	// OperationState only changes the state, under its lock, see Spec.StateChange.
	OperationState Operation = "state"
	// OperationShell prepares the working directory for a person, under the state's lock.
	OperationShell Operation = "shell"
)

// Purpose says why a run was started, for records and people. The runner ignores it.
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
	// UID distinguishes a stack from an earlier one of the same name.
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

// Spec is everything that a runner needs to execute a run, except for large content.
type Spec struct {
	// Protocol is the version of this document, see [ProtocolVersion].
	Protocol int    `json:"protocol"`
	ID       string `json:"id"`
	Stack    Stack  `json:"stack"`
	// Origin is the UID that the stack had before "yuba move" moved it here; else empty.
	Origin    string    `json:"origin,omitempty"`
	Operation Operation `json:"operation"`
	Purpose   Purpose   `json:"purpose"`
	// Destroy plans the destruction of everything the stack manages.
	Destroy bool `json:"destroy,omitempty"`

	// Artifact is the source tree, a gzipped tar archive.
	Artifact Artifact `json:"artifact"`
	// Part is the part of the source that the run reads, if not all. A runner may skip the rest.
	Part *Part `json:"part,omitempty"`
	// Path is the root module inside the artifact, relative; empty means its root.
	Path string `json:"path,omitempty"`
	// LockFile is the recorded dependency lock file, for modules without one.
	LockFile []byte `json:"lockFile,omitempty"`
	// Upgrade runs init with -upgrade.
	Upgrade bool `json:"upgrade,omitempty"`
	// Unless ends the run before it plans if Modules.Placed is this digest; empty to always plan.
	Unless string `json:"unless,omitempty"`

	// Replace puts another version of a module in place, for PurposeTry.
	Replace *Replacement `json:"replace,omitempty"`
	// Resolved are, with Replace, the versions of the other modules, by the call's key. They stay.
	Resolved map[string]string `json:"resolved,omitempty"`

	// Workspace is what terraform.workspace evaluates to.
	Workspace string  `json:"workspace"`
	Backend   Backend `json:"backend"`
	// Variables is the content of the generated tfvars file, by name.
	Variables map[string]Variable `json:"variables,omitempty"`
	// Env is tofu's environment, apart from the few names that the runner sets.
	Env []EnvVar `json:"env,omitempty"`
	// Identities are tokens that the run gets as files, of the ServiceAccount of its namespace.
	ServiceAccount string     `json:"serviceAccount,omitempty"`
	Identities     []Identity `json:"identities,omitempty"`
	// VarFiles are relative to the artifact's root. Later ones win, and all of them over Variables.
	VarFiles []string `json:"varFiles,omitempty"`
	// Files are written before the tool starts; they replace files of the artifact.
	Files []File `json:"files,omitempty"`
	// CLIConfig is the stack's own configuration file of the tool. It holds credentials.
	CLIConfig []byte `json:"cliConfig,omitempty"`
	// Secrets are further texts to mask: settings of the backend, and values in templates.
	Secrets []string `json:"secrets,omitempty"`

	Targets     []string `json:"targets,omitempty"`
	Parallelism int32    `json:"parallelism,omitempty"`
	// RefreshOnApply refuses to apply a saved plan if a refresh finds drift
	// (spec.refreshBeforeApply).
	RefreshOnApply bool `json:"refreshOnApply,omitempty"`

	// NoPlanLock plans without the lock of a custom backend (spec.plan.lock).
	NoPlanLock bool `json:"noPlanLock,omitempty"`
	// LockTimeout is how long the tool waits for the lock of a custom backend; zero for no wait.
	LockTimeout Duration `json:"lockTimeout,omitempty"`
	// ForceUnlock is the id of a custom backend's lock to break before the plan; else empty.
	ForceUnlock string `json:"forceUnlock,omitempty"`
	// StateChange is the change that OperationState makes.
	StateChange *StateChange `json:"stateChange,omitempty"`

	// Plan is the saved plan to apply, for OperationApply.
	Plan *PlanRef `json:"plan,omitempty"`
	// Describe asks for the readable plan (one more process).
	Describe bool `json:"describe,omitempty"`
	// Review asks the server about each plan with changes before its use. It needs Describe.
	Review bool `json:"review,omitempty"`
	// ReviewInit asks the server about the installed configuration after init, before anything of it
	// is executed.
	ReviewInit bool `json:"reviewInit,omitempty"`
	// PlanText asks for the plan as the tool prints it (one more process). It needs Describe.
	PlanText bool `json:"planText,omitempty"`
	// PlanDocument asks for the plan in the tool's own JSON schema, redacted. It needs Describe.
	PlanDocument bool `json:"planDocument,omitempty"`
	// PlanOutputs asks for the planned changes of the outputs with these names, with their sensitive
	// values: the server checks them against contracts. It needs Describe.
	PlanOutputs []string `json:"planOutputs,omitempty"`
	// Direct allows a plan-and-apply run to plan and apply with one process: no state is known, and
	// there is no review. A runner that finds a state plans first.
	Direct bool `json:"direct,omitempty"`
	// ReadOutputs asks the tool for the outputs after an apply if the server cannot read the state:
	// it is encrypted, or in a custom backend.
	ReadOutputs bool `json:"readOutputs,omitempty"`
	// ReadResources asks for the inventory in the same way.
	ReadResources bool `json:"readResources,omitempty"`
	// ReadUnchanged asks for both even without changes, if the server does not know them yet.
	ReadUnchanged bool `json:"readUnchanged,omitempty"`
	// ListState asks for the resource instances in a state that the server cannot read. They prove
	// which objects earlier interrupted applies created.
	ListState bool `json:"listState,omitempty"`

	Tool   Tool   `json:"tool"`
	Limits Limits `json:"limits"`
	// Registry is the server's registry; nil without one. The server adds it at the run's start.
	Registry *Registry `json:"registry,omitempty"`
}

// Part is a part of a source: files, and directories with their content, relative to the root.
type Part struct {
	Paths []string `json:"paths"`
	// Digest is equal for two sources with equal parts.
	Digest string `json:"digest"`
}

// Variable is the value of an input variable.
type Variable struct {
	Value json.RawMessage `json:"value"`
	// Secret is true for values from Secrets or of sensitive variables, which are masked.
	Secret bool `json:"secret,omitempty"`
	// Open is true for outputs of another stack that are not sensitive. They are shown, unless
	// another input with that value is secret.
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

// FileLocation is a directory for files of a run.
type FileLocation string

const (
	// FileInModule is the directory of the root module.
	FileInModule FileLocation = "module"
	// FileInHome is the run's own home directory.
	FileInHome FileLocation = "home"
)

// File is a file that is written (0600) before the tool starts.
type File struct {
	Location FileLocation `json:"location"`
	// Path is relative and does not leave the location.
	Path    string `json:"path"`
	Content []byte `json:"content"`
	// Secret is true for files whose content is masked and that are deleted after the run.
	Secret bool `json:"secret,omitempty"`
}

// StateVerb is a change of the state alone, like the tool's state and import commands.
type StateVerb string

const (
	// StateMove renames a resource: Args are its old and its new address.
	StateMove StateVerb = "mv"
	// StateRemove forgets resources without destroying them: Args are their addresses.
	StateRemove StateVerb = "rm"
	// StateImport adopts an object: Args are its address and its id at the provider.
	StateImport StateVerb = "import"
	// StatePush replaces the state by State.
	StatePush StateVerb = "push"
	// StateRollback restores the stored version in Args.
	StateRollback StateVerb = "rollback"
	// StateMigrate copies the state to another backend, see Migration.
	StateMigrate StateVerb = "migrate"
	// StateUnlock breaks the lock of a custom backend with the id in Args.
	StateUnlock StateVerb = "unlock"
	// StateList lists the resources in a custom backend, or those at or below the addresses in Args, and
	// StateShow describes the one in Args. They change nothing.
	StateList StateVerb = "list"
	StateShow StateVerb = "show"
	// StateTaint marks the resource in Args, so that the next plan replaces it; StateUntaint takes that back.
	StateTaint   StateVerb = "taint"
	StateUntaint StateVerb = "untaint"
	// StateReplaceProvider makes another provider responsible: Args are the sources of the two.
	StateReplaceProvider StateVerb = "replace-provider"
	// StateRefresh records what others changed, of everything or of the addresses in Args.
	StateRefresh StateVerb = "refresh"
	// StateConsole evaluates the expressions in Input, StateGraph draws the program. Both only read, and
	// have no change to preview: Preview is true.
	StateConsole StateVerb = "console"
	StateGraph   StateVerb = "graph"
	// StateProvidersLock answers with the dependency lock file for the platforms in Args. It reads no state.
	StateProvidersLock StateVerb = "providers-lock"
)

// Inspects reports whether a verb asks about the program, without a change to preview.
func (v StateVerb) Inspects() bool {
	return v == StateConsole || v == StateGraph || v == StateProvidersLock
}

// Reads reports whether a verb only reads a state. Its answer can have what others may not read.
func (v StateVerb) Reads() bool {
	return v == StateConsole || v == StateGraph || v == StateList || v == StateShow
}

// Words are the tool's words for a verb that inspects.
func (v StateVerb) Words() []string { return strings.Split(string(v), "-") }

// StateChange is the change that an OperationState run makes.
type StateChange struct {
	Verb StateVerb `json:"verb"`
	Args []string  `json:"args,omitempty"`
	// State is the new state, for StatePush.
	State []byte `json:"state,omitempty"`
	// Force lets StatePush replace a state of another lineage or a higher serial.
	Force bool `json:"force,omitempty"`
	// Preview only reports what would change. Of a rollback it is the plan that would follow.
	Preview bool `json:"preview,omitempty"`
	// Input has the expressions for StateConsole, one on each line.
	Input []byte `json:"input,omitempty"`
	// Expect is the digest of the state that a rollback replaces; empty for any.
	Expect string `json:"expect,omitempty"`
	// Accept ends a migration without copying: the state is at the destination already.
	Accept bool `json:"accept,omitempty"`
	// BreakLock is the id of a lock that an earlier migration left at either backend.
	BreakLock string `json:"breakLock,omitempty"`
	// Migration is what StateMigrate needs. The server adds it.
	Migration *Migration `json:"migration,omitempty"`
}

// Migration names the two backends of a StateMigrate run: Spec.Backend, which is the managed one if
// one of them is, and Other.
type Migration struct {
	Other Backend `json:"other"`
	// Env is what only Other's tool processes need of the environment.
	Env []EnvVar `json:"env,omitempty"`
	// Into is true if Other is the destination, false if it is the source.
	Into bool `json:"into,omitempty"`
	// From and To say for people where the state is, and will be.
	From string `json:"from"`
	To   string `json:"to"`
	// Destination is for the server, which records it when the migration has succeeded.
	Destination json.RawMessage `json:"destination,omitempty"`
}

// Artifact names a source archive.
type Artifact struct {
	// Digest is "sha256:" and the archive's hex digest.
	Digest   string `json:"digest"`
	Revision string `json:"revision"`
	Size     int64  `json:"size"`
	// Transient is true for the source of one run only: its runner keeps nothing of it.
	Transient bool `json:"transient,omitempty"`
}

// PlanRef names a saved plan.
type PlanRef struct {
	// ID is what people approve, such as plan-main-1a2b3c4d5e.
	ID string `json:"id"`
	// RunID is the run that made it and whose blobs include it.
	RunID string `json:"runID"`
	// Digest is "sha256:" and the hex digest of the plan file.
	Digest string `json:"digest"`
}

// BackendKind says where the state is stored.
type BackendKind string

const (
	// BackendManaged: Yuba stores the state. tofu writes a file, and the runner ships it.
	BackendManaged BackendKind = "managed"
	// BackendOwn: tofu uses and locks the stack's custom backend.
	BackendOwn BackendKind = "own"
)

// Backend is the stack's backend configuration.
type Backend struct {
	Kind BackendKind `json:"kind"`
	// Override is the content of an override file beside the root module; empty for none.
	Override string `json:"override,omitempty"`
	// Settings complete the configuration at init. A file passes them, because they may be secret.
	Settings map[string]string `json:"settings,omitempty"`
	// Location says where the state is, without credentials; empty in records of earlier versions.
	Location string `json:"location,omitempty"`
}

// Tool is the program to run.
type Tool struct {
	// Name is "tofu" or "terraform"; empty means the server's default.
	Name string `json:"name,omitempty"`
	// Version is a constraint such as ">= 1.9"; empty means any.
	Version string `json:"version,omitempty"`
}

// Limits limit what one run may use.
type Limits struct {
	// Timeout is how long a tofu process may run, Grace how long it may then take to stop.
	Timeout Duration `json:"timeout"`
	Grace   Duration `json:"grace"`
	// Sizes in bytes. A log is cut; a larger plan, state or archive fails the run.
	LogBytes     int64 `json:"logBytes"`
	PlanBytes    int64 `json:"planBytes"`
	StateBytes   int64 `json:"stateBytes"`
	ArchiveBytes int64 `json:"archiveBytes"`
	// UnpackedBytes and Entries limit what an archive may expand to.
	UnpackedBytes int64 `json:"unpackedBytes"`
	Entries       int   `json:"entries"`
	// Run limits the resources that a run and its processes use at a time, Namespace those of all
	// runs of its namespace together. Zero means no limit, except that a run's memory is limited to
	// half of the machine's or the service's; Unlimited removes that, too.
	Run       Resources `json:"run,omitzero"`
	Namespace Resources `json:"namespace,omitzero"`
	// OpenFiles limits the open files and connections of each process.
	OpenFiles int64 `json:"openFiles,omitempty"`
	// Network is NoNetwork for a run without connections; empty means the machine's network. Listen
	// lists ports that its programs may listen on, in addition to those that the kernel chooses.
	Network string   `json:"network,omitempty"`
	Listen  []uint16 `json:"listen,omitempty"`
	// Isolated gives a run with NoNetwork a network of its own, which reaches what these entries
	// name; see package network. An older runner gives it none.
	Isolated []string `json:"isolated,omitempty"`
}

// Unlimited is a limit that is never reached.
const Unlimited = 1 << 60

// Resources are the resources of the machine that programs share.
type Resources struct {
	// Processes counts processes and threads.
	Processes int64 `json:"processes,omitempty"`
	// MemoryBytes is without pages of files, DiskBytes the size of the run's directories.
	MemoryBytes int64 `json:"memoryBytes,omitempty"`
	DiskBytes   int64 `json:"diskBytes,omitempty"`
	// Files counts files, links and directories there.
	Files int64 `json:"files,omitempty"`
}

// The networks that runs can have.
const (
	HostNetwork = "host"
	NoNetwork   = "none"
	// IsolatedNetwork is one that reaches only what a list allows.
	IsolatedNetwork = "isolated"
)

// DefaultLimits are generous for ordinary stacks.
func DefaultLimits() Limits {
	const mib = 1 << 20
	return Limits{
		Timeout: Duration(2 * time.Hour), Grace: Duration(5 * time.Minute),
		LogBytes: 64 * mib, PlanBytes: 256 * mib, StateBytes: 256 * mib,
		// As in internal/archive: every archive that can be pushed can be unpacked.
		ArchiveBytes: 1024 * mib, UnpackedBytes: 4 * 1024 * mib, Entries: 200_000,
		Run: Resources{Processes: 1024, DiskBytes: 16 * 1024 * mib, Files: 1_000_000}, OpenFiles: 16384,
	}
}

// Duration is a time.Duration that reads and writes as text ("2h0m0s").
type Duration time.Duration

// MarshalText writes the duration as time.Duration does.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads the format of time.ParseDuration.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("read duration: %w", err)
	}
	*d = Duration(v)
	return nil
}
