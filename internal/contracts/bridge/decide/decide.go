// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import "fmt"

// Verb is what to do.
type Verb string

// What a bridge does.
const (
	// Wait: there is nothing to carry yet.
	Wait Verb = "wait"
	// Record: both are equal; remember it as the base.
	Record Verb = "record"
	// Create writes ours where no document is.
	Create Verb = "create"
	// Overwrite writes ours over theirs.
	Overwrite Verb = "overwrite"
	// Publish makes theirs a revision.
	Publish Verb = "publish"
	// Conflict: a person must decide.
	Conflict Verb = "conflict"
	// Misfit: theirs is not a value of the contract, so it is not published.
	Misfit Verb = "misfit"
	// Gone: the document that was published does not exist any more.
	Gone Verb = "gone"
)

// Facts are what a bridge sees.
type Facts struct {
	// In is set for a bridge that publishes.
	In bool
	// Ours, Theirs and Base are digests, or empty.
	Ours, Theirs, Base string
	// Unreadable says why the document is not a value: it is not JSON, or does not fit the contract.
	// Theirs is a digest of its bytes then.
	Unreadable string
	// Replace is the digest of the document that a person allows to overwrite.
	Replace string
	// Document and Contract name both, for messages.
	Document, Contract string
}

// Decision says what to do, and why.
type Decision struct {
	Verb    Verb
	Message string
}

// Decide decides.
func Decide(f Facts) Decision {
	rules := out
	if f.In {
		rules = in
	}
	for _, r := range rules {
		if r.when(f) {
			return Decision{r.verb, r.message(f)}
		}
	}
	return Decision{Conflict, "no rule covers these facts. This is a bug in Yuba."}
}

type rule struct {
	when    func(Facts) bool
	verb    Verb
	message func(Facts) string
}

// out are the rules of bridges out; the first that holds decides.
var out = []rule{
	// Without a revision there is nothing to write. A document that is there stays.
	{func(f Facts) bool { return f.Ours == "" }, Wait,
		func(f Facts) string { return "no revision of " + f.Contract + " is published yet" }},
	{func(f Facts) bool { return f.Ours == f.Theirs }, Record,
		func(f Facts) string { return f.Document + " has the revision" }},
	// A document that somebody removed cannot be lost by writing it again.
	{func(f Facts) bool { return f.Theirs == "" }, Create,
		func(f Facts) string { return "wrote " + f.Document }},
	{func(f Facts) bool { return f.Theirs == f.Base }, Overwrite,
		func(f Facts) string { return "wrote " + f.Document }},
	{func(f Facts) bool { return f.Theirs == f.Replace }, Overwrite,
		func(f Facts) string { return "wrote " + f.Document + ", as spec.replace allows" }},
	{always, Conflict, conflict},
}

// in are the rules of bridges in.
var in = []rule{
	{func(f Facts) bool { return f.Theirs == "" && f.Ours == "" }, Wait,
		func(f Facts) string { return f.Document + " does not exist yet" }},
	{func(f Facts) bool { return f.Theirs == "" }, Gone,
		func(f Facts) string {
			return f.Document + " does not exist any more; consumers keep the last revision. Delete the bridge to withdraw it"
		}},
	{func(f Facts) bool { return f.Unreadable != "" }, Misfit,
		func(f Facts) string {
			return fmt.Sprintf("%s is not published as %s: %s. Consumers keep the last revision", f.Document, f.Contract, f.Unreadable)
		}},
	{func(f Facts) bool { return f.Ours == f.Theirs }, Record,
		func(f Facts) string { return f.Document + " is published" }},
	{always, Publish,
		func(f Facts) string { return "published " + f.Document }},
}

func always(Facts) bool { return true }

// conflict names the document, what happened to it, and the two ways on.
func conflict(f Facts) string {
	what := "exists, and this bridge did not write it"
	switch {
	case f.Base != "" && f.Base == f.Ours:
		what = "was changed by somebody else"
	case f.Base != "":
		what = "was changed by somebody else, and there is a new revision"
	}
	text := fmt.Sprintf("%s %s; it is not overwritten", f.Document, what)
	if f.Unreadable != "" {
		text += " (" + f.Unreadable + ")"
	}
	return text + ". Remove the document, or allow to replace exactly this one with spec.replace: " + f.Theirs
}
