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
	// Path is the root module inside the artifact, relative; empty means its root.
	Path string `json:"path,omitempty"`
	// LockFile is the recorded dependency lock file, used when the module brings none.
	LockFile []byte `json:"lockFile,omitempty"`
	// Upgrade runs init with -upgrade.
	Upgrade bool `json:"upgrade,omitempty"`

	// Workspace is what terraform.workspace evaluates to.
	Workspace string  `json:"workspace"`
	Backend   Backend `json:"backend"`
	// Variables is the content of the generated tfvars file, by name.
	Variables map[string]Variable `json:"variables,omitempty"`
	// Env is the environment tofu gets beside the few names the runner itself sets.
	Env []EnvVar `json:"env,omitempty"`

	Targets     []string `json:"targets,omitempty"`
	Parallelism int32    `json:"parallelism,omitempty"`
	// RefreshOnApply compares state and world once more before a saved plan is applied and refuses to apply it when
	// they have parted (spec.refreshBeforeApply).
	RefreshOnApply bool `json:"refreshOnApply,omitempty"`

	// Plan is the saved plan to apply, for OperationApply.
	Plan *PlanRef `json:"plan,omitempty"`
	// Describe asks for the readable plan (one more process); a run that applies at once goes without.
	Describe bool `json:"describe,omitempty"`
	// ReadOutputs asks the tool for the outputs after an apply, when the server cannot read the state itself: an own
	// backend, or an encrypted state.
	ReadOutputs bool `json:"readOutputs,omitempty"`

	Tool   Tool   `json:"tool"`
	Limits Limits `json:"limits"`
}

// Variable is the value of an input variable.
type Variable struct {
	Value json.RawMessage `json:"value"`
	// Secret is true for values that came from a Secret or belong to a sensitive variable: they are masked wherever
	// text leaves the run.
	Secret bool `json:"secret,omitempty"`
}

// EnvVar is one name of tofu's environment.
type EnvVar struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Secret bool   `json:"secret,omitempty"`
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
}

// DefaultLimits are generous for honest stacks and finite for others.
func DefaultLimits() Limits {
	const mib = 1 << 20
	return Limits{
		Timeout: Duration(2 * time.Hour), Grace: Duration(5 * time.Minute),
		LogBytes: 64 * mib, PlanBytes: 256 * mib, StateBytes: 256 * mib,
		// As internal/source has them, so that what is pushed is what is unpacked.
		ArchiveBytes: 1024 * mib, UnpackedBytes: 4 * 1024 * mib, Entries: 200_000,
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
