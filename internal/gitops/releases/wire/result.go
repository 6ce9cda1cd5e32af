// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package wire

import "time"

// Result is the answer to a call.
type Result struct {
	// Failure is why the operation failed; nil for success.
	Failure *Failure `json:",omitempty"`
	// Stored are the stored versions of the release, the last one first.
	Stored []Stored `json:",omitempty"`
	// ConfigDigest is the digest of the values.
	ConfigDigest string `json:",omitempty"`
	Chart        Chart  `json:",omitzero"`
	// Drift is what Diff found.
	Drift []Drift `json:",omitempty"`
	// Objects are those of the release.
	Objects []Object `json:",omitempty"`
}

// Failure is a failed operation.
type Failure struct {
	Kind    FailureKind
	Message string
}

// FailureKind is what a failure is about.
type FailureKind string

// The kinds of failures.
const (
	// FailedOperation is a failure of Helm or of the cluster.
	FailedOperation FailureKind = ""
	// FailedValues is an error in the values.
	FailedValues FailureKind = "values"
	// FailedChart is a chart that cannot be used.
	FailedChart FailureKind = "chart"
	// NotFound is a chart, or a version, that the index does not have.
	NotFound FailureKind = "not found"
)

// Stored is a stored version of a release.
type Stored struct {
	Name, Namespace string
	Version         int
	Status          string
	// Digest changes with any change of the stored release.
	Digest                              string
	ChartName, ChartVersion, AppVersion string
	ConfigDigest                        string
	FirstDeployed, LastDeployed         time.Time
	Deleted                             time.Time          `json:",omitzero"`
	Tests                               map[string]TestRun `json:",omitempty"`
	Description                         string             `json:",omitempty"`
	// Origin is the HelmRelease that installed it, as NAMESPACE/NAME; empty if unknown.
	Origin string `json:",omitempty"`
}

// TestRun is a run of one of a chart's tests.
type TestRun struct {
	Started, Completed time.Time
	Phase              string
}

// Chart describes a chart.
type Chart struct {
	Name, Version, AppVersion string
	// URLs are where an index says that the archive is, and Digest its digest.
	URLs   []string `json:",omitempty"`
	Digest string   `json:",omitempty"`
}

// Object identifies an object: namespace, name, group and kind, as in Flux's inventory, and its version.
type Object struct{ Namespace, Name, Group, Version, Kind string }

// Drift is an object that differs from the release.
type Drift struct {
	Object
	// Missing is true for a deleted object; otherwise Paths are the different fields.
	Missing bool     `json:",omitempty"`
	Paths   []string `json:",omitempty"`
}
