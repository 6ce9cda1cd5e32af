// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"crypto/rand"
	"encoding/hex"
	"path"
	"time"
)

// Record is a run as it is kept: what was asked, by whom it is carried out, what came of it. It holds secrets (the
// spec's variables and environment) and the token; [Record.Public] is what may be shown.
type Record struct {
	Spec    Spec      `json:"spec"`
	Token   string    `json:"token,omitempty"`
	Created time.Time `json:"created"`
	// Runner and Started are set when a runner took it.
	Runner  string     `json:"runner,omitempty"`
	Started *time.Time `json:"started,omitempty"`
	// LockHeld is true while the run holds (or may hold) its state's lock.
	LockHeld bool    `json:"lockHeld,omitempty"`
	Result   *Result `json:"result,omitempty"`
	// Trigger says in words what started the run, such as "generation 3" or "drift interval".
	Trigger string `json:"trigger,omitempty"`
	// Passes counts how often this record was updated in place by passes that found no changes.
	Passes int `json:"passes,omitempty"`
}

// Public returns the record without variables, environment, outputs and token.
func (r Record) Public() Record {
	r.Token = ""
	r.Spec.Variables = nil
	r.Spec.Env = nil
	r.Spec.LockFile = nil
	if r.Result != nil {
		result := *r.Result
		result.Outputs, result.LockFile = nil, nil
		r.Result = &result
	}
	return r
}

// NewID makes a run's id: its time, so that ids sort by age, and 40 random bits.
func NewID(now time.Time) string {
	return now.UTC().Format("20060102-150405.000") + "-" + randomHex(5)
}

// NewToken makes a bearer token of 256 random bits.
func NewToken() string { return randomHex(32) }

func randomHex(n int) string {
	b := make([]byte, n)
	rand.Read(b) //nolint:errcheck // never fails, see its documentation
	return hex.EncodeToString(b)
}

// Prefix is where the blobs of all of a stack's runs are kept.
func (s Stack) Prefix() string { return path.Join("runs", s.Namespace, s.Name, s.UID) + "/" }

// The blobs of one run, below its key.
const (
	BlobRecord   = "record.json"
	BlobLog      = "log.jsonl"
	BlobPlan     = "plan"
	BlobPlanJSON = "plan.json"
)

// Key is the blob key of one part of a run.
func (s Stack) Key(runID, part string) string { return s.Prefix() + runID + "/" + part }

// LockFileKey is where the stack's dependency lock file is kept between runs.
func (s Stack) LockFileKey() string { return path.Join("locks", s.Namespace, s.Name, s.UID) }
