// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package run

import (
	"slices"
	"time"
)

// Why explains what is done about a stack and why. It holds no value of a secret.
type Why struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Decision is what the rules say at this moment.
	Decision Decided `json:"decision"`
	// Looked is when the controller last looked at the stack, and what it decided then; nil when it has not since the
	// server started.
	Looked *Looked `json:"looked,omitempty"`
	// Queue is the place of the run in hand, while it waits for its turn.
	Queue *QueuePlace `json:"queue,omitempty"`
	// Planned is the run whose plan says how the stack stands; Changes are the inputs that differ from its own. Both are
	// missing when there has been none.
	Planned *RunInShort   `json:"planned,omitempty"`
	Changes []InputChange `json:"changes,omitempty"`
	// LastRun is the run that ended last, or is in hand, and which inputs differed from the run before it.
	LastRun *RunInShort `json:"lastRun,omitempty"`
	// Proof says what the stack's configuration depends on, as far as it is known.
	Proof *Proof `json:"proof,omitempty"`
	// OwnTool is true when the stack says which tool it wants; it is not told.
	OwnTool bool `json:"-"`
	// Notes are worth knowing beside all that.
	Notes []string `json:"notes,omitempty"`
}

// Decided is a decision.
type Decided struct {
	// Verb is what is to be done, such as "rest", "wait" or "plan"; Subject the run or plan it is about.
	Verb    string `json:"verb"`
	Subject string `json:"subject,omitempty"`
	// Reason is a word for machines; Message and Detail are for people.
	Reason  string `json:"reason"`
	Message string `json:"message,omitempty"`
	Detail  string `json:"detail,omitempty"`
	// NextLook is when time alone changes the decision; nil when only an event does.
	NextLook *time.Time `json:"nextLook,omitempty"`
}

// Looked is a look at the stack by the controller.
type Looked struct {
	At     time.Time `json:"at"`
	Verb   string    `json:"verb"`
	Reason string    `json:"reason"`
	// Since is when that was first decided without anything else in between.
	Since time.Time `json:"since"`
}

// QueuePlace is the place of a run that waits: 1 begins next.
type QueuePlace struct {
	Place int    `json:"place"`
	Waits string `json:"waits,omitempty"`
}

// RunInShort is a run as an explanation tells of it.
type RunInShort struct {
	ID        string     `json:"id"`
	Operation Operation  `json:"operation"`
	Purpose   Purpose    `json:"purpose,omitempty"`
	Outcome   Outcome    `json:"outcome,omitempty"`
	Created   time.Time  `json:"created"`
	Finished  *time.Time `json:"finished,omitempty"`
	Revision  string     `json:"revision,omitempty"`
	// Trigger says what started it, By who asked for it.
	Trigger string `json:"trigger,omitempty"`
	By      string `json:"by,omitempty"`
	// Tool is what carried it out.
	Tool string `json:"tool,omitempty"`
	// Plan says in words what it planned.
	Plan string `json:"plan,omitempty"`
	// Passes counts the looks in a row that found nothing, this one included.
	Passes int `json:"passes,omitempty"`
	// Before is the run before it, Changes the inputs that differ between the two.
	Before  string        `json:"before,omitempty"`
	Changes []InputChange `json:"changes,omitempty"`
}

// InputChange is an input that is not what it was.
type InputChange struct {
	// Part is what kind of input it is: source, variable, environment, file, values, cli, backend, workspace, path,
	// targets, tool, destroy, outputs or state. Name says which one.
	Part string `json:"part"`
	Name string `json:"name,omitempty"`
	// Origin is where its value comes from now, such as "ConfigMap team-a/settings, key size".
	Origin string `json:"origin,omitempty"`
	// From and To are the values, shortened; empty for what was not there, or is not any more. Of a secret both are empty.
	From   string `json:"from,omitempty"`
	To     string `json:"to,omitempty"`
	Secret bool   `json:"secret,omitempty"`
	// Untouched is true for a change of the source that touches nothing that the stack reads.
	Untouched bool `json:"untouched,omitempty"`
	// Files are the files of a source that changed, of those that count.
	Files []FileChange `json:"files,omitempty"`
	// MoreFiles counts those that are not named.
	MoreFiles int `json:"moreFiles,omitempty"`
}

// FileChange is a file that was added, changed or removed.
type FileChange struct {
	Name   string `json:"name"`
	Change string `json:"change"`
}

// Proof says what must stay as it is for a stack to count as unchanged.
type Proof struct {
	// Dirs are the directories of the source that the stack reads; empty when everything counts, and Whole says why.
	Dirs  []string `json:"dirs,omitempty"`
	Whole string   `json:"whole,omitempty"`
	// World is what it reads of the world while planning.
	World string `json:"world,omitempty"`
	// Drift is how often it is compared with the world; empty when it is not.
	Drift string `json:"drift,omitempty"`
	// Unchanged is true when everything that counts is what it was when the stack was planned last.
	Unchanged bool `json:"unchanged"`
}

// Note adds what is worth knowing, once.
func (w *Why) Note(text string) {
	if !slices.Contains(w.Notes, text) {
		w.Notes = append(w.Notes, text)
	}
}
