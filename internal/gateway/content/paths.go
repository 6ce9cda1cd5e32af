// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package content

import (
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
	// Truncated is true if there are older versions, which the response does not list.
	Truncated bool `json:"truncated,omitempty"`
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
