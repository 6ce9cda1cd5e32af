// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"time"
)

// Identity is a token of a run's service account. The token itself is in no spec and in no record:
// a runner gets it when the run begins, and again before it expires.
type Identity struct {
	Audience string `json:"audience"`
	// Env are variables. In their values and in Config, IdentityPath stands for the path of the
	// token's file, and IdentityConfig for that of a file with the content of Config.
	Env    []EnvVar `json:"env,omitempty"`
	Config string   `json:"config,omitempty"`
}

// RunnersAudience is that of the tokens by which runners identify their Pods. No run gets one.
const RunnersAudience = "yuba-runner"

// Placeholders for paths that only the runner knows.
const (
	IdentityPath   = "\x00token\x00"
	IdentityConfig = "\x00config\x00"
)

// Name identifies the audience in paths.
func (i Identity) Name() string {
	sum := sha256.Sum256([]byte(i.Audience))
	return hex.EncodeToString(sum[:8])
}

// IdentityMount is where Pods have the tokens of their place's audiences, each as NAME/token.
const IdentityMount = "/var/run/secrets/yuba.dev/identity"

// MountedToken is the file of the token in a Pod.
func (i Identity) MountedToken() string { return path.Join(IdentityMount, i.Name(), "token") }

// IdentityToken is the answer to a runner's request for a token.
type IdentityToken struct {
	Token   string    `json:"token"`
	Expires time.Time `json:"expires"`
}
