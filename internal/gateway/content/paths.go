// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Group and PathPrefix are where content is served; the API server reads such paths as requests for resources of the
// group.
const (
	Group      = "content.yuba.dev"
	Version    = "v1alpha1"
	PathPrefix = "/apis/" + Group + "/" + Version
)

// The ConfigMap that tells where content is served when the API server is somebody else's: key "url", and "ca.crt"
// with the PEM bundle of that address.
const (
	ConfigMapNamespace = "yuba-system"
	ConfigMapName      = "yuba-content"
)

// RunList is the answer of …/runs, newest first.
type RunList struct {
	Items []run.Record `json:"items"`
}

// VersionList is the answer of …/versions, newest first.
type VersionList struct {
	Items []state.Version `json:"items"`
}

// Pushed is the answer to a pushed archive.
type Pushed struct {
	// Digest is "sha256:" and the archive's hex digest; Revision what stacks will report.
	Digest   string `json:"digest"`
	Revision string `json:"revision"`
	Size     int64  `json:"size"`
	// Changed is false when the artifact had this very content already.
	Changed bool `json:"changed"`
}

// ServerInfo is the answer of /server.
type ServerInfo struct {
	Version string `json:"version"`
	// Tool is the program that runs use by default, and its version.
	Tool        string `json:"tool"`
	ToolVersion string `json:"toolVersion"`
	// Confined is true when all walls around programs stand, Walls names those that do, MissingWalls say of each other one
	// why it does not, and what that means.
	Confined     bool     `json:"confined"`
	Walls        string   `json:"walls,omitempty"`
	MissingWalls []string `json:"missingWalls,omitempty"`
	// Started is when this start of the server began: it tells one from another.
	Started time.Time `json:"started"`
	// Waiting and Running count runs.
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	// Trouble is why the API takes no changes, and what to do about it; empty while it does.
	Trouble string `json:"trouble,omitempty"`
	// Tools are the programs that runs can use.
	Tools []run.InstalledTool `json:"tools,omitempty"`
}
