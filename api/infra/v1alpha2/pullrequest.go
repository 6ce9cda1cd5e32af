// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package v1alpha2

import (
	"encoding/json"
	"fmt"
	"time"
)

// AnnotationPullRequest holds a stack for a pull request that is applied before its merge: a
// [PullRequestHold] as JSON. A PullRequestPlanner writes it. Removing it returns the stack to its own
// source at once, as its mode of approval says.
const AnnotationPullRequest = "yuba.dev/pull-request"

// LabelPullRequest is on the GitRepositories that have the commit of a pull request. Its value is the
// UID of the PullRequestPlanner.
const LabelPullRequest = "yuba.dev/pull-request-of"

// PullRequestHold says for which pull request a stack is held. No plan is applied without an approval
// of exactly that plan as long as it is set.
//
// +kubebuilder:object:generate=false
type PullRequestHold struct {
	// Planner is the UID of the PullRequestPlanner that may release it.
	Planner string `json:"planner"`
	// Of names the pull request for people, such as infra#7; Repository and Number for the planner.
	Of         string `json:"of"`
	Repository string `json:"repository"`
	Number     int    `json:"number"`
	URL        string `json:"url,omitempty"`
	// Identity names the repository at its forge: HOST/OWNER/NAME.
	Identity string `json:"identity,omitempty"`
	// Source is the GitRepository that the stack uses in place of its own, in the same namespace.
	Source string `json:"source"`
	// Commit is the head that was reviewed, and which Source has.
	Commit string    `json:"commit"`
	Since  time.Time `json:"since"`
	// Released is true once the stack returns to its own source. The server removes the hold when a plan
	// of it was applied, or has no changes.
	Released bool `json:"released,omitempty"`
}

// String describes the hold for people.
func (h *PullRequestHold) String() string {
	if h.Released {
		return fmt.Sprintf("returns to its source after pull request %s", h.Of)
	}
	return fmt.Sprintf("runs commit %.12s of pull request %s", h.Commit, h.Of)
}

// Made reports whether a GitRepository is one that the planner made for the hold: it has the label of the
// planner, the commit, and the URL of the stack's own GitRepository. Whoever may annotate a stack does not choose
// what it runs.
func (h *PullRequestHold) Made(label, url, commit, ownURL string) bool {
	return h.Planner != "" && label == h.Planner && url == ownURL && commit == h.Commit
}

// Annotation is the value of the annotation.
func (h *PullRequestHold) Annotation() (string, error) {
	data, err := json.Marshal(h)
	return string(data), err
}

// PullRequestHold returns the hold of the stack; nil without one. A value that cannot be read still
// holds the plans, on the stack's own source.
func (t *Terraform) PullRequestHold() *PullRequestHold {
	text, set := t.Annotations[AnnotationPullRequest]
	if !set {
		return nil
	}
	h := &PullRequestHold{}
	if json.Unmarshal([]byte(text), h) != nil || h.Source == "" || h.Commit == "" {
		return &PullRequestHold{Of: "(unreadable annotation " + AnnotationPullRequest + ")", Released: true}
	}
	return h
}

// ProgramSource is the source of the program: spec.sourceRef, or the GitRepository of a pull request
// that the stack is held for.
func (t *Terraform) ProgramSource() *CrossNamespaceSourceReference {
	ref, h := t.Spec.SourceRef, t.PullRequestHold()
	if ref == nil || ref.Kind != SourceKindGitRepository || h == nil || h.Released || !t.DeletionTimestamp.IsZero() {
		return ref
	}
	return &CrossNamespaceSourceReference{APIVersion: ref.APIVersion, Kind: ref.Kind, Namespace: ref.Namespace, Name: h.Source}
}
