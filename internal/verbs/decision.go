// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package verbs

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	infrav1 "github.com/yuba-dev/yuba/api/infra/v1alpha2"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Decision is what a person has decided about a plan, for other people. See
// infrav1.AnnotationDecision.
type Decision struct {
	Plan    string    `json:"plan"`
	Verdict string    `json:"verdict"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
	Comment string    `json:"comment,omitempty"`
}

// The verdicts.
const (
	Approved = "approved"
	Rejected = "rejected"
)

// MaxComment bounds a comment, in characters.
const MaxComment = 1000

// Comment is a comment as it is stored: bounded, and without characters that would control a reader's
// terminal.
func Comment(text string) string {
	text = diagnostic.Printable(strings.TrimSpace(strings.ToValidUTF8(text, "?")))
	if runes := []rune(text); len(runes) > MaxComment {
		return string(runes[:MaxComment-1]) + "…"
	}
	return text
}

// Decide adds a decision to the change that makes it.
func (c Change) Decide(d Decision) (Change, error) {
	d.At, d.Comment = d.At.UTC().Truncate(time.Second), Comment(d.Comment)
	text, err := json.Marshal(d)
	if err != nil {
		return c, err
	}
	annotations := map[string]any{}
	if have, ok := c.Metadata["annotations"].(map[string]any); ok {
		maps.Copy(annotations, have)
	}
	annotations[infrav1.AnnotationDecision] = string(text)
	c.Metadata = maps.Clone(c.Metadata)
	if c.Metadata == nil {
		c.Metadata = map[string]any{}
	}
	c.Metadata["annotations"] = annotations
	return c, nil
}

// DecisionOf returns the last decision about a stack's plans, if it is about this one.
func DecisionOf(t *infrav1.Terraform, plan string) (d Decision, ok bool) {
	text := t.Annotations[infrav1.AnnotationDecision]
	if text == "" || json.Unmarshal([]byte(text), &d) != nil || d.Plan != plan || plan == "" {
		return Decision{}, false
	}
	d.By, d.Comment = diagnostic.Printable(d.By), Comment(d.Comment)
	return d, true
}

// Decided says who has decided about a plan already, and how; empty if nobody has, as far as the
// stack shows.
func Decided(t *infrav1.Terraform, plan string) string {
	applied, named := t.Status.Plan.LastApplied == plan, t.Spec.ApprovePlan == plan || t.Annotations[infrav1.AnnotationApproved] == plan
	rejected := t.Annotations[infrav1.AnnotationRejected] == plan
	if plan == "" || !applied && !named && !rejected {
		return ""
	}
	verdict := Approved
	if rejected && !applied {
		verdict = Rejected
	}
	text := "plan " + plan + " is " + verdict + " already"
	if applied {
		text = "plan " + plan + " is applied already"
	}
	if d, ok := DecisionOf(t, plan); ok && d.Verdict == verdict {
		text += ": " + d.By + " has " + verdict + " it at " + d.At.UTC().Format("15:04:05 UTC on 2006-01-02")
		if d.Comment != "" {
			text += " (" + d.Comment + ")"
		}
	}
	return text
}
