// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
	"time"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// Group and PathPrefix are the location of content. The API server parses such paths as requests
// for resources of the group.
const (
	Group      = "content.yuba.dev"
	Version    = "v1alpha1"
	PathPrefix = "/apis/" + Group + "/" + Version
)

// The ConfigMap with the address of content when the API server is not Yuba's: key "url", and
// "ca.crt" with the PEM bundle of that address.
const (
	ConfigMapNamespace = "yuba-system"
	ConfigMapName      = "yuba-content"
)

// RunList is the response of …/runs, newest first.
type RunList struct {
	Items []run.Record `json:"items"`
}

// VersionList is the response of …/versions, newest first.
type VersionList struct {
	Items []state.Version `json:"items"`
}

// Pushed is the response to a pushed archive.
type Pushed struct {
	// Digest is "sha256:" and the archive's hex digest. Revision is what stacks report.
	Digest   string `json:"digest"`
	Revision string `json:"revision"`
	Size     int64  `json:"size"`
	// Changed is false if the artifact had this content already.
	Changed bool `json:"changed"`
}

// ServerInfo is the response of /server.
type ServerInfo struct {
	Version string `json:"version"`
	// Tool is the default program of runs and its version.
	Tool        string `json:"tool"`
	ToolVersion string `json:"toolVersion"`
	// Confined is true if all walls of confinement are active. Walls lists the active ones,
	// MissingWalls for each other one the reason and its consequence.
	Confined     bool     `json:"confined"`
	Walls        string   `json:"walls,omitempty"`
	MissingWalls []string `json:"missingWalls,omitempty"`
	// Started is the server's start time, which distinguishes one start from another.
	Started time.Time `json:"started"`
	// Waiting and Running count runs.
	Waiting int `json:"waiting"`
	Running int `json:"running"`
	// Trouble says why the API refuses changes and what to do about it. It is empty while the API
	// accepts them.
	Trouble string `json:"trouble,omitempty"`
	// Tools are the programs that runs can use.
	Tools []run.InstalledTool `json:"tools,omitempty"`
}
