// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/decide"
)

// Format is the version of the records that this package writes.
const Format = 1

// Kind says what a record is about.
type Kind string

const (
	// KindDecision: policies decided about a plan.
	KindDecision Kind = "decision"
	// KindApproval: a person approved a plan. The API server has authenticated the person.
	KindApproval Kind = "approval"
	// KindApply: an apply was permitted.
	KindApply Kind = "apply"
	// KindMoved: the stack came from another home, whose log has its earlier records.
	KindMoved Kind = "moved"
)

// Record is one event.
type Record struct {
	Format int `json:"format"`
	// Number counts the records of the chain from 1. Previous is the digest of the one before, empty
	// for the first.
	Number   int64  `json:"number"`
	Previous string `json:"previous,omitempty"`
	// Namespace, Stack and UID identify the stack. A chain continues if a stack is made anew.
	Namespace string    `json:"namespace"`
	Stack     string    `json:"stack"`
	UID       string    `json:"uid"`
	At        time.Time `json:"at"`
	Kind      Kind      `json:"kind"`
	Who       Who       `json:"who"`
	// Plan is the id of the plan, Run the run that made or applies it, Purpose that of the run.
	Plan    string `json:"plan,omitempty"`
	Run     string `json:"run,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	// Bound are the digests of everything that was judged or approved, BoundDigest is their hash.
	Bound       *decide.Bound `json:"bound,omitempty"`
	BoundDigest string        `json:"boundDigest,omitempty"`
	// Verdict is the decision in one word, Reason the same for machines, Message for people.
	Verdict string `json:"verdict,omitempty"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Findings are those of the policies, at most [MaxFindings]; FindingsOmitted counts the others.
	Findings        []Finding `json:"findings,omitempty"`
	FindingsOmitted int       `json:"findingsOmitted,omitempty"`
	// Approvers are the people whose approvals count.
	Approvers []string `json:"approvers,omitempty"`
	// Origin is the end of the log that this one continues.
	Origin *Origin `json:"origin,omitempty"`
}

// Origin is the last record of the stack's log in another home.
type Origin struct {
	Server string `json:"server"`
	Head
}

// Check reports whether an origin can be one. It comes from another home.
func (o Origin) Check() error {
	digits, isDigest := strings.CutPrefix(o.Digest, "sha256:")
	_, err := hex.DecodeString(digits)
	if o.Number < 1 || !isDigest || err != nil || len(digits) != 2*sha256.Size || len(o.Server) > 256 {
		return fmt.Errorf("%q is not the end of an audit log", fmt.Sprint(o.Server, " ", o.Head))
	}
	return nil
}

// MaxFindings limits the findings of a record, and MaxGroups the groups of a user.
const (
	MaxFindings = 50
	MaxGroups   = 100
)

// Who caused the event.
type Who struct {
	// User is empty if the server acted by itself.
	User   string   `json:"user,omitempty"`
	Groups []string `json:"groups,omitempty"`
	// Impersonator is the user who acted as User; empty if User did. An API server in front of this
	// server does not tell.
	Impersonator string `json:"impersonator,omitempty"`
	// Address is where the request came from, Server which server recorded the event.
	Address string `json:"address,omitempty"`
	Server  string `json:"server,omitempty"`
}

// Finding is an objection of a rule.
type Finding struct {
	Policy  string `json:"policy"`
	Rule    string `json:"rule"`
	Address string `json:"address,omitempty"`
	Message string `json:"message"`
	Effect  string `json:"effect"`
}

// Same reports whether two records are about the same event: the second attempt to record it, after
// the first one was interrupted.
func (r *Record) Same(other *Record) bool {
	return r.Kind == other.Kind && r.UID == other.UID && r.BoundDigest == other.BoundDigest && r.Plan == other.Plan && r.Run == other.Run &&
		r.Who.User == other.Who.User && r.Who.Impersonator == other.Who.Impersonator && r.Verdict == other.Verdict && r.Message == other.Message
}

// Entry is a record as it is stored and exported.
type Entry struct {
	Digest string          `json:"digest"`
	Record json.RawMessage `json:"record"`
}

// Seal makes the entry of a record.
func Seal(r Record) (Entry, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return Entry{}, fmt.Errorf("write the audit record: %w", err)
	}
	canonical, err := canonical(text)
	return Entry{Digest: digestOf(canonical), Record: canonical}, err
}

// Decode reads the record of an entry, whether its digest fits or not.
func (e Entry) Decode() (Record, error) {
	var r Record
	err := json.Unmarshal(e.Record, &r)
	return r, err
}

// Link is what the next record names as the one before: the digest of what is in the entry now.
func (e Entry) Link() string {
	text, err := canonical(e.Record)
	if err != nil {
		text = e.Record
	}
	return digestOf(text)
}

// canonical has no white space, and members sorted by name.
func canonical(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	return json.Marshal(v)
}

func digestOf(text []byte) string {
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
