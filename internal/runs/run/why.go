// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/kit/shorten"
)

// Why explains what Yuba does for a stack, and why. It includes no secret values.
type Why struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Decision is the current decision.
	Decision Decided `json:"decision"`
	// Looked is the last reconciliation; nil for none since the server started.
	Looked *Looked `json:"looked,omitempty"`
	// Queue is the place of a waiting run.
	Queue *QueuePlace `json:"queue,omitempty"`
	// Planned is the run that made the current plan, Changes the inputs that differ from its
	// inputs; nil without a plan.
	Planned *RunInShort   `json:"planned,omitempty"`
	Changes []InputChange `json:"changes,omitempty"`
	// LastRun is the current or last run, with the inputs that differed from the run before.
	LastRun *RunInShort `json:"lastRun,omitempty"`
	// Proof lists what the stack's configuration depends on, as far as known.
	Proof *Proof `json:"proof,omitempty"`
	// OwnTool is true if the stack chooses its tool. It is not sent.
	OwnTool bool `json:"-"`
	// Notes are further remarks.
	Notes []string `json:"notes,omitempty"`
}

// Decided is a decision.
type Decided struct {
	// Verb is the action, such as "rest", "wait" or "plan"; Subject the run or plan concerned.
	Verb    string `json:"verb"`
	Subject string `json:"subject,omitempty"`
	// Reason is for machines; Message and Detail are for people.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// NextLook is when Yuba reconciles the stack again without an event; nil for never.
	NextLook *time.Time `json:"nextLook,omitempty"`
}

// Looked is a reconciliation of the stack.
type Looked struct {
	At     time.Time `json:"at"`
	Verb   string    `json:"verb"`
	Reason string    `json:"reason"`
	// Since is when this decision was first made; it has not changed since.
	Since time.Time `json:"since"`
}

// QueuePlace is the place of a waiting run: 1 begins next.
type QueuePlace struct {
	Place int    `json:"place"`
	Waits string `json:"waits,omitempty"`
}

// RunInShort is a run in an explanation.
type RunInShort struct {
	ID        string     `json:"id"`
	Operation Operation  `json:"operation"`
	Purpose   Purpose    `json:"purpose,omitempty"`
	Outcome   Outcome    `json:"outcome,omitempty"`
	Created   time.Time  `json:"created"`
	Finished  *time.Time `json:"finished,omitempty"`
	Revision  string     `json:"revision,omitempty"`
	// Trigger is its cause, By the person who requested it.
	Trigger string `json:"trigger,omitempty"`
	By      string `json:"by,omitempty"`
	// Tool is the program that executed it.
	Tool string `json:"tool,omitempty"`
	// Plan describes its plan.
	Plan string `json:"plan,omitempty"`
	// Passes counts the drift checks in a row that found nothing, including this one.
	Passes int `json:"passes,omitempty"`
	// Before is the run before it, Changes the inputs that differ between them.
	Before  string        `json:"before,omitempty"`
	Changes []InputChange `json:"changes,omitempty"`
}

// InputChange is an input that has changed.
type InputChange struct {
	// Part is the kind of input: source, variable, environment, file, values, cli, backend,
	// workspace, path, targets, tool, destroy, outputs or state. Name says which one.
	Part string `json:"part"`
	Name string `json:"name,omitempty"`
	// Origin is the source of its current value, such as "ConfigMap team-a/settings, key size".
	Origin string `json:"origin,omitempty"`
	// From and To are the values, shortened; empty for a missing value and for secrets.
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	// Untouched is true if the source changed only where the stack does not read it.
	Untouched bool `json:"untouched,omitempty"`
	// Files are the changed files that the stack reads, MoreFiles the number of further ones.
	Files     []FileChange `json:"files,omitempty"`
	MoreFiles int          `json:"moreFiles,omitempty"`
}

// InWords is the change in one line: its name, old and new value, and origin. Values are as others
// wrote them.
func (c *InputChange) InWords() string {
	text := strings.TrimSpace(c.Part + " " + c.Name)
	from, to := c.From, c.To
	if c.Part == "source" {
		from, to = shorten.Revision(from), shorten.Revision(to)
	}
	switch {
	case c.Secret:
		text += ": changed (secret)"
	case from == "":
		text += ": now " + to
	case to == "":
		text += ": gone, was " + from
	default:
		text += ": " + from + " -> " + to
	}
	if c.Untouched {
		text += " (no file that the stack reads)"
	}
	if c.Origin != "" {
		text += ", from " + c.Origin
	}
	return text
}

// FileChange is a file that was added, changed or removed.
type FileChange struct {
	Name   string `json:"name"`
	Change string `json:"change"`
}

// Proof lists what must not change for a stack to count as unchanged.
type Proof struct {
	// Dirs are the directories that the stack reads; empty for all, for the reason in Whole.
	Dirs  []string `json:"dirs,omitempty"`
	Whole string   `json:"whole,omitempty"`
	// World names the external data that it reads while planning.
	World string `json:"world,omitempty"`
	// Drift is the interval of drift detection; empty if disabled.
	Drift string `json:"drift,omitempty"`
	// Unchanged is true if nothing relevant has changed since the last plan.
	Unchanged bool `json:"unchanged"`
}

// Note adds a remark, once.
func (w *Why) Note(text string) {
	if !slices.Contains(w.Notes, text) {
		w.Notes = append(w.Notes, text)
	}
}
