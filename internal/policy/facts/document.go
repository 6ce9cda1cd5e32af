// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package facts

import (
	"encoding/json"
	"sync"
	"time"
)

// APIVersion is the version of the document. Fields are only added to it.
const APIVersion = "policy.yuba.dev/v1"

// Kind is the kind of the document.
const Kind = "Facts"

// Stage says when the facts are judged.
type Stage string

const (
	// StagePrePlan: before the plan, on the configuration. There are no changes.
	StagePrePlan Stage = "PrePlan"
	// StagePlan: after the plan, before the apply.
	StagePlan Stage = "Plan"
	// StageDrift: after a plan that looks for drift.
	StageDrift Stage = "Drift"
)

// Document is what policies judge.
type Document struct {
	// APIVersion and Kind identify the document.
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Stage says when the facts are judged.
	Stage Stage `json:"stage"`
	// Stack is the stack.
	Stack Stack `json:"stack"`
	// Run says who asked for what, and when.
	Run Run `json:"run"`
	// Digests identify the bytes that the facts are about.
	Digests Digests `json:"digests"`
	// Plan describes the plan as a whole; nil in the stage PrePlan.
	Plan *Plan `json:"plan,omitempty"`
	// Counts are the numbers of changes.
	Counts Counts `json:"counts"`
	// Changes has each resource instance of the plan, also those that stay as they are.
	Changes []Change `json:"changes"`
	// Drift has the differences between the state and the infrastructure.
	Drift []Change `json:"drift,omitempty"`
	// Outputs has each output of the root module.
	Outputs []Output `json:"outputs,omitempty"`
	// Variables are the input variables of the root module.
	Variables []Variable `json:"variables,omitempty"`
	// Configuration is what the modules declare.
	Configuration Configuration `json:"configuration"`
	// Providers are those in the dependency lock file.
	Providers []Provider `json:"providers,omitempty"`
	// LockFile says whether there is a dependency lock file.
	LockFile bool `json:"lockFile"`
	// Contracts are the verdicts about the contracts that the stack publishes.
	Contracts []Contract `json:"contracts,omitempty"`

	// Show is what the facts were computed from, without sensitive values: rules of other tools read
	// it. It is not a part of the document.
	Show json.RawMessage `json:"-"`
	// derived keeps what [Document.Once] computed.
	derived *sync.Map
}

// Once computes something from the document, once for all who ask with the same key.
func (d *Document) Once(key string, compute func() any) any {
	if d.derived == nil {
		return compute()
	}
	found, _ := d.derived.LoadOrStore(key, sync.OnceValue(compute))
	return found.(func() any)()
}

// Stack identifies a stack.
type Stack struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Labels    map[string]string `json:"labels,omitempty"`
	Workspace string            `json:"workspace,omitempty"`
}

// Run says who asked for what, and when.
type Run struct {
	ID string `json:"id,omitempty"`
	// Purpose is deploy, drift or delete.
	Purpose string `json:"purpose,omitempty"`
	// PlannedAt is when the plan was made.
	PlannedAt time.Time `json:"plannedAt,omitzero"`
	// RequestedBy is the user who asked for the run; empty if a change or the clock did.
	RequestedBy string `json:"requestedBy,omitempty"`
	// Revision is the source's revision, Commit what is known about it.
	Revision string  `json:"revision,omitempty"`
	Commit   *Commit `json:"commit,omitempty"`
	// Destroy is true for a plan that destroys everything.
	Destroy bool `json:"destroy,omitempty"`
	// Targets, Excludes and Replace are the arguments of the plan.
	Targets  []string `json:"targets,omitempty"`
	Excludes []string `json:"excludes,omitempty"`
	Replace  []string `json:"replace,omitempty"`
	// RefreshOnly is true for a plan that only takes over drift; NoRefresh for one that did not look
	// at the infrastructure.
	RefreshOnly bool `json:"refreshOnly,omitempty"`
	NoRefresh   bool `json:"noRefresh,omitempty"`
}

// Commit is what is known about the revision.
type Commit struct {
	SHA       string    `json:"sha,omitempty"`
	Author    string    `json:"author,omitempty"`
	Committer string    `json:"committer,omitempty"`
	Time      time.Time `json:"time,omitzero"`
	// Verified is true if the signature was verified.
	Verified bool `json:"verified,omitempty"`
	// Files are the changed files, if they are known.
	Files []string `json:"files,omitempty"`
}

// Digests identify the bytes that the facts are about; each is "sha256:" and hex digits.
type Digests struct {
	// Plan is that of the saved plan.
	Plan string `json:"plan,omitempty"`
	// Source is that of the artifact.
	Source string `json:"source,omitempty"`
	// LockFile is that of the dependency lock file.
	LockFile string `json:"lockFile,omitempty"`
	// Modules is that of the packages of all modules from elsewhere.
	Modules string `json:"modules,omitempty"`
	// StateSerial and StateLineage are those of the state that was planned on.
	StateSerial  int64  `json:"stateSerial"`
	StateLineage string `json:"stateLineage,omitempty"`
}

// Plan describes the plan as a whole.
type Plan struct {
	FormatVersion string `json:"formatVersion"`
	// Tool is the version of the tool.
	Tool string `json:"tool"`
	// Errored is true if planning ended with an error: the plan is incomplete.
	Errored bool `json:"errored,omitempty"`
	// Partial is true if targets or excludes limit the plan.
	Partial bool `json:"partial,omitempty"`
	// Resources is the number of managed resource instances in the state before.
	Resources int `json:"resources"`
	// Checks are the check blocks, conditions and validations that did not pass, as ADDRESS: STATUS.
	Checks []string `json:"checks,omitempty"`
}

// Actions of changes. The tool's list of actions is in [Change.Actions]; Action is the one of these
// that it means.
const (
	ActionNoOp    = "no-op"
	ActionCreate  = "create"
	ActionRead    = "read"
	ActionUpdate  = "update"
	ActionReplace = "replace"
	ActionDelete  = "delete"
	ActionForget  = "forget"
	// ActionOpen: an ephemeral resource is opened.
	ActionOpen = "open"
	// ActionUnknown: the list is none that this version knows.
	ActionUnknown = "unknown"
)

// Change is what the plan does with one resource instance, or with one deposed object of it.
type Change struct {
	Address string `json:"address"`
	// Previous is the address before, if the resource was moved.
	Previous string `json:"previous,omitempty"`
	// Module is the path of the module's call without keys, such as "network.subnets"; empty for the
	// root module. ModuleAddress is its address with keys.
	Module        string `json:"module,omitempty"`
	ModuleAddress string `json:"moduleAddress,omitempty"`
	// Mode is managed or data.
	Mode string `json:"mode"`
	Type string `json:"type"`
	Name string `json:"name"`
	// Index is the key of count or for_each: a number, a string or null.
	Index json.RawMessage `json:"index,omitempty"`
	// Provider is the provider's source, HOST/NAMESPACE/TYPE.
	Provider string `json:"provider"`
	// Deposed is the key of a deposed object.
	Deposed string `json:"deposed,omitempty"`
	// Action is the meaning of Actions.
	Action  string   `json:"action"`
	Actions []string `json:"actions"`
	// Destroys is true if an object is destroyed, by delete or replace; Forgets if the state drops one
	// that stays.
	Destroys bool `json:"destroys,omitempty"`
	Forgets  bool `json:"forgets,omitempty"`
	// Imports is true if an existing object is adopted, with the id ImportID.
	Imports  bool   `json:"imports,omitempty"`
	ImportID string `json:"importID,omitempty"`
	// Declared is true if the configuration has the resource.
	Declared bool `json:"declared"`
	// ActionReason is the tool's reason. It is for people: rules must not depend on it.
	ActionReason string `json:"actionReason,omitempty"`
	// Before and After are values with marks; null if there is no object.
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Changed are the attributes that differ or may differ, sorted: names of the top level, and below
	// maps and objects of the kind "tags.team", at most MaxChanged. ChangedOmitted counts the rest.
	Changed        []string `json:"changed,omitempty"`
	ChangedOmitted int      `json:"changedOmitted,omitempty"`
	// Unknown are the attributes of the top level that are unknown, at least in part.
	Unknown []string `json:"unknown,omitempty"`
}

// Output is an output of the root module.
type Output struct {
	Name      string          `json:"name"`
	Action    string          `json:"action"`
	Sensitive bool            `json:"sensitive,omitempty"`
	Before    json.RawMessage `json:"before,omitempty"`
	After     json.RawMessage `json:"after,omitempty"`
}

// Variable is an input variable of the root module.
type Variable struct {
	Name      string          `json:"name"`
	Sensitive bool            `json:"sensitive,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
}

// Counts are the numbers of changes.
type Counts struct {
	Total Tally `json:"total"`
	// ByProvider and ByType count managed resources; ByType has the types of all providers.
	ByProvider map[string]Tally `json:"byProvider,omitempty"`
	ByType     map[string]Tally `json:"byType,omitempty"`
}

// Tally counts resource instances by action. A replacement counts as replace only.
type Tally struct {
	NoOp    int `json:"noOp,omitempty"`
	Create  int `json:"create,omitempty"`
	Read    int `json:"read,omitempty"`
	Update  int `json:"update,omitempty"`
	Replace int `json:"replace,omitempty"`
	Delete  int `json:"delete,omitempty"`
	Forget  int `json:"forget,omitempty"`
	Import  int `json:"import,omitempty"`
	Move    int `json:"move,omitempty"`
	// Unknown counts actions that this version does not know.
	Unknown int `json:"unknown,omitempty"`
}

// Configuration is what the modules declare.
type Configuration struct {
	// Known is false if there is no description of the configuration.
	Known bool `json:"known"`
	// Initialized is false in the stage PrePlan before the tool has installed modules.
	Initialized bool `json:"initialized"`
	// Modules are the calls of modules, sorted by key.
	Modules []Module `json:"modules,omitempty"`
	// Resources are the declared resources and data sources, once each, however many instances.
	Resources []Resource `json:"resources,omitempty"`
	// Providers are the configurations of providers; in the stage PrePlan, all that the modules
	// require or imply.
	Providers []ProviderConfig `json:"providers,omitempty"`
	// Programs are other places that name programs to run. A plan does not show those of an encryption.
	Programs []Program `json:"programs,omitempty"`
	// Unread are the parts that could not be read, so that the lists may be incomplete.
	Unread []Unread `json:"unread,omitempty"`
}

// Program is a place of the configuration that names a program, such as a key provider of an
// encryption, or "exec" in the configuration of a provider.
type Program struct {
	Module  string `json:"module,omitempty"`
	Address string `json:"address"`
	// Kind is external or exec.
	Kind string `json:"kind"`
	// At is the position, FILE:LINE.
	At string `json:"at,omitempty"`
}

// Unread is a part of the configuration that could not be read.
type Unread struct {
	Module string `json:"module,omitempty"`
	Why    string `json:"why"`
	// Remote is true for a module that is not in the source, and not installed yet.
	Remote bool   `json:"remote,omitempty"`
	At     string `json:"at,omitempty"`
}

// Module is one call of a module.
type Module struct {
	// Key is the path of the call without keys, such as "network.subnets".
	Key string `json:"key"`
	// Source is as the caller writes it, Normalized the canonical form (see [NormalizeSource]).
	Source     string `json:"source"`
	Normalized string `json:"normalized"`
	// Local is true if the module is in the package of its caller.
	Local bool `json:"local,omitempty"`
	// Package is the key of the call that installed the package: the module itself, or the nearest
	// caller that is not local. It is empty for the root module's package.
	Package string `json:"package,omitempty"`
	// Constraint is the version constraint as it is written.
	Constraint string `json:"constraint,omitempty"`
	// Installed is true if the list of installed modules has the call. Version is the installed
	// version, if the source has versions, InstalledSource the source in the list, Digest that of the
	// package.
	Installed       bool   `json:"installed"`
	Version         string `json:"version,omitempty"`
	InstalledSource string `json:"installedSource,omitempty"`
	Digest          string `json:"digest,omitempty"`
	// Brought is true if the stack's source brought the package and the list: nobody has checked that
	// it is the module of that source and version. The digest is that of the package all the same.
	Brought bool `json:"brought,omitempty"`
	// At is the position, FILE:LINE; in the stage PrePlan only.
	At string `json:"at,omitempty"`
}

// Resource is a declared resource or data source.
type Resource struct {
	// Module is the path of the module's call; Address the address in it, such as "aws_vpc.main".
	Module  string `json:"module,omitempty"`
	Address string `json:"address"`
	Mode    string `json:"mode"`
	Type    string `json:"type"`
	// Provider is the provider's source, HOST/NAMESPACE/TYPE.
	Provider string `json:"provider,omitempty"`
	// Provisioners are their types, such as local-exec.
	Provisioners []string `json:"provisioners,omitempty"`
	// Removed is true for a removed block; in the stage PrePlan only.
	Removed bool `json:"removed,omitempty"`
	// At is the position, FILE:LINE; in the stage PrePlan only.
	At string `json:"at,omitempty"`
}

// ProviderConfig is a configuration of a provider.
type ProviderConfig struct {
	// Key is the tool's key, such as "aws.west" or "module.network:aws".
	Key string `json:"key"`
	// Source is HOST/NAMESPACE/TYPE.
	Source     string `json:"source"`
	Alias      string `json:"alias,omitempty"`
	Module     string `json:"module,omitempty"`
	Constraint string `json:"constraint,omitempty"`
	// At is the position, FILE:LINE; in the stage PrePlan only.
	At string `json:"at,omitempty"`
}

// Provider is a provider in the dependency lock file.
type Provider struct {
	// Source is HOST/NAMESPACE/TYPE.
	Source     string `json:"source"`
	Version    string `json:"version"`
	Constraint string `json:"constraint,omitempty"`
	// Hashes are as in the lock file, sorted.
	Hashes []string `json:"hashes,omitempty"`
}

// Verdicts about contracts.
const (
	ContractFits    = "fits"
	ContractBreaks  = "breaks"
	ContractUnknown = "unknown"
)

// Contract is the verdict about a contract that the stack publishes.
type Contract struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Verdict is fits, breaks, or unknown until the apply.
	Verdict string `json:"verdict"`
	// Message says what does not fit.
	Message string `json:"message,omitempty"`
	// Breaks are the consumers that would break.
	Breaks []BrokenConsumer `json:"breaks,omitempty"`
}

// BrokenConsumer is a stack that would break, with the path that it reads.
type BrokenConsumer struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Path      string `json:"path,omitempty"`
}
