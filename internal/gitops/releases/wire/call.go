// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import (
	"encoding/json"
	"time"
)

// The hosts and paths of the program's requests.
const (
	// Server is the host of requests to the server itself.
	Server = "yuba"
	// Cluster is the host of requests to the target cluster.
	Cluster = "cluster"

	PathNext   = "/next"
	PathInput  = "/input"
	PathOutput = "/output"
)

const (
	// MaxMessage limits a call and a result. Values of 10 MiB are more than etcd takes.
	MaxMessage = 16 << 20
	// MaxInput limits the large input and output.
	MaxInput = 64 << 20
	// MaxMemory limits the program's memory in bytes; a chart with a hundred subcharts needs a quarter.
	MaxMemory = 1 << 30
	// MaxProcessor limits the CPU time of a call. Waiting costs next to none.
	MaxProcessor = 30 * time.Second
)

// OutOfProcessor is what the program says when a call exceeds its CPU time.
const OutOfProcessor = "the call exceeds its time of the processor"

// Operation is what a call does.
type Operation string

// The operations on releases.
const (
	// Observe reads what is stored about the release, and renders nothing.
	Observe   Operation = "observe"
	Install   Operation = "install"
	Upgrade   Operation = "upgrade"
	Rollback  Operation = "rollback"
	Uninstall Operation = "uninstall"
	Test      Operation = "test"
	// Unlock marks a pending release as failed, whose operation was interrupted.
	Unlock Operation = "unlock"
	// Diff compares the release's objects with the cluster; Correct makes them equal.
	Diff    Operation = "diff"
	Correct Operation = "correct"
)

// The operations on charts, which need no cluster.
const (
	// Resolve finds a chart's version in the index of a repository.
	Resolve Operation = "resolve"
	// Package makes an archive of a directory with a chart.
	Package Operation = "package"
	// Inspect reads the name and the version of an archive.
	Inspect Operation = "inspect"
)

// Call is a request to the program.
type Call struct {
	Operation Operation
	Release   Release        `json:",omitzero"`
	Options   Options        `json:",omitzero"`
	Values    []Values       `json:",omitempty"`
	Chart     ChartReference `json:",omitzero"`
	Ignore    []Ignore       `json:",omitempty"`
	// Processor limits the CPU time; 0 for MaxProcessor.
	Processor time.Duration `json:",omitempty"`
	// HasInput is true if the call has a chart at PathInput.
	HasInput bool `json:",omitempty"`
}

// Release names a release.
type Release struct {
	Name, Namespace, StorageNamespace string
	// Version is that to roll back to, to test, or to unlock; 0 for the last.
	Version int `json:",omitempty"`
}

// Options are those of Helm's operations.
type Options struct {
	Timeout                  time.Duration `json:",omitempty"`
	DisableWait              bool          `json:",omitempty"`
	DisableWaitForJobs       bool          `json:",omitempty"`
	LegacyWait               bool          `json:",omitempty"`
	DisableHooks             bool          `json:",omitempty"`
	DisableOpenAPIValidation bool          `json:",omitempty"`
	DisableSchemaValidation  bool          `json:",omitempty"`
	DisableTakeOwnership     bool          `json:",omitempty"`
	Replace                  bool          `json:",omitempty"`
	Force                    bool          `json:",omitempty"`
	PreserveValues           bool          `json:",omitempty"`
	CleanupOnFail            bool          `json:",omitempty"`
	CreateNamespace          bool          `json:",omitempty"`
	KeepHistory              bool          `json:",omitempty"`
	// CRDs is Skip, Create or CreateReplace.
	CRDs string `json:",omitempty"`
	// ServerSideApply is enabled, disabled or auto; empty for Helm's default.
	ServerSideApply string `json:",omitempty"`
	// Propagation is that of deletions.
	Propagation string `json:",omitempty"`
	MaxHistory  int    `json:",omitempty"`
	// VersionMetadata is added to the chart's version, after a "+".
	VersionMetadata string `json:",omitempty"`
	// PostRenderers are spec.postRenderers, as JSON; Strategy is spec.postRenderStrategy.
	PostRenderers json.RawMessage `json:",omitempty"`
	Strategy      string          `json:",omitempty"`
	// HealthChecks are spec.healthCheckExprs, as JSON.
	HealthChecks json.RawMessage `json:",omitempty"`
	// Labels and Annotations are for all objects. Origin are Flux's labels.
	Labels      map[string]string `json:",omitempty"`
	Annotations map[string]string `json:",omitempty"`
	Origin      map[string]string `json:",omitempty"`
	Filters     []Filter          `json:",omitempty"`
}

// Filter selects tests.
type Filter struct {
	Name    string
	Exclude bool
}

// Values is one part of the values; later parts win.
type Values struct {
	// Source names the part in errors.
	Source string
	Data   []byte
	// TargetPath is where Data goes, as with "helm --set"; empty for a YAML document. Literal takes
	// Data unchanged, as with "helm --set-literal".
	TargetPath string
	Literal    bool
}

// ChartReference names a chart: in an index, or by its directory in a tree.
type ChartReference struct {
	Name, Version string
	// Path is the chart's directory; ValuesFiles are files of the tree whose values are merged.
	Path          string
	ValuesFiles   []string
	IgnoreMissing bool
	// Metadata is appended to the version: the revision of its source.
	Metadata string
}

// Ignore are paths that are not compared.
type Ignore struct {
	Paths []string
	// Target is a selector of kustomize, as JSON.
	Target json.RawMessage
}
