// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

// Facts are what is known of an instance.
type Facts struct {
	// Deleting: the instance is being deleted. Kept: it has the finalizer. Abandon: it leaves what it
	// made.
	Deleting, Kept, Abandon bool
	// Definition says why there is no definition that the instance can follow; empty if there is one.
	Definition string
	// Refused says what the instance asks for although the definition does not allow it, Invalid why no
	// object can be made of it; empty for nothing.
	Refused, Invalid string
	// Waits says what Yuba waits for before it decides about what the instance asks for; empty for nothing.
	Waits string
	// Missing says why the API has no objects of the backend; empty if it has.
	Missing string
	// Holder is the other owner of the object's name; empty for none.
	Holder string
	// Moved says that "yuba move" has the object; empty if it does not.
	Moved string
	// Object is the instance's object; nil for none.
	Object *Object
	// Blocked says what is in a tenant's namespace, and must go before it; empty for nothing.
	Blocked string
	// Approve is the command that approves the pending plan, and Abandoning the one that lets a deletion
	// leave the resources, for messages.
	Approve, Abandoning string
}

// Object is what is known of the instance's object.
type Object struct {
	// Current: it is as it should be. Deleting: it is being deleted, and then Destroys what it made.
	Current, Deleting, Destroys bool
	// Observed: the rest is about its current spec.
	Observed bool
	// Ready is its condition Ready: True, False, Unknown or empty. Working: its controller goes on by
	// itself. Stuck says what somebody has to change; empty for nothing.
	Ready, Message string
	Working        bool
	Stuck          string
	// Awaits is the plan that waits for approval, and Changes what it changes; empty for none.
	Awaits, Changes string
	// Applied: its resources exist.
	Applied bool
}

// Verb is what to do.
type Verb string

// The verbs.
const (
	// Rest: nothing but the status.
	Rest Verb = "rest"
	// Write: keep the instance, and write its object.
	Write Verb = "write"
	// Keep: keep the instance, whose object stays as it is.
	Keep Verb = "keep"
	// Spare: tell the object to leave what it made when it is deleted.
	Spare Verb = "spare"
	// Delete: delete the object.
	Delete Verb = "delete"
	// Release: remove the finalizer.
	Release Verb = "release"
)

// Decision is what happens to an instance, and its status.
type Decision struct {
	Verb Verb
	Standing
}

// Standing is the status of an instance.
type Standing struct {
	Phase, Ready, Reason, Message string
	// Working: Yuba goes on by itself. Stalled: somebody has to change something.
	Working, Stalled bool
}

// rule is a line of the table: the first whose condition holds decides.
type rule struct {
	when   func(f *Facts) bool
	decide func(f *Facts) Decision
}

// Instance decides about an instance.
func Instance(f Facts) Decision {
	d := ruled(&f)
	// Somebody has removed the finalizer: a deletion would not wait any more.
	if d.Verb == Rest && !f.Deleting && !f.Kept && f.Object != nil {
		d.Verb = Keep
	}
	return d
}

// ruled is the decision of the first rule that matches.
func ruled(f *Facts) Decision {
	for _, r := range rules {
		if r.when(f) {
			return r.decide(f)
		}
	}
	return Decision{Rest, standingOf(f.Object, f.Approve)}
}

var rules = []rule{
	// Others keep an instance that Yuba has released, or never kept.
	{func(f *Facts) bool { return f.Deleting && !f.Kept }, says(Rest, deleting, "Other finalizers keep the object.")},
	// Its object is gone, so nothing of it is left.
	{func(f *Facts) bool { return f.Deleting && f.Object == nil }, says(Release, deleting, "Its resources are gone.")},
	// The user wants to leave what exists. A deletion that has begun must learn it, too.
	{func(f *Facts) bool { return f.Deleting && f.Abandon && f.Object.Destroys }, says(Spare, deleting, "Its resources are kept.")},
	// Deleting a namespace would take everything in it, without asking.
	{func(f *Facts) bool { return f.Deleting && f.Blocked != "" && !f.Object.Deleting }, func(f *Facts) Decision { return Decision{Rest, blocked(f.Blocked)} }},
	{func(f *Facts) bool { return f.Deleting && !f.Object.Deleting }, says(Delete, deleting, "Its resources are being destroyed.")},
	// Its resources are destroyed first, and the object says how far that is.
	{func(f *Facts) bool { return f.Deleting }, func(f *Facts) Decision { return Decision{Rest, leaving(f)} }},
	// Only one home works on an object.
	{func(f *Facts) bool { return f.Moved != "" }, func(f *Facts) Decision {
		return Decision{Rest, Standing{Phase: "Pending", Ready: "False", Reason: "Moved", Message: f.Moved, Working: true}}
	}},
	// Nothing of another owner is touched.
	{func(f *Facts) bool { return f.Holder != "" }, func(f *Facts) Decision {
		return Decision{Rest, stalled("NameTaken", f.Holder)}
	}},
	// The object stays as it is, and works on.
	{func(f *Facts) bool { return f.Definition != "" }, func(f *Facts) Decision {
		return Decision{Rest, Standing{Phase: "Pending", Ready: "False", Reason: "DefinitionNotReady", Message: f.Definition, Working: true}}
	}},
	{func(f *Facts) bool { return f.Refused != "" }, func(f *Facts) Decision { return Decision{Rest, stalled("NotAllowed", f.Refused)} }},
	{func(f *Facts) bool { return f.Invalid != "" }, func(f *Facts) Decision { return Decision{Rest, stalled("Failed", f.Invalid)} }},
	{func(f *Facts) bool { return f.Waits != "" }, func(f *Facts) Decision { return Decision{Rest, progressing(f.Waits)} }},
	{func(f *Facts) bool { return f.Missing != "" }, func(f *Facts) Decision {
		return Decision{Rest, Standing{Phase: "Pending", Ready: "False", Reason: "BackendMissing", Message: f.Missing, Working: true}}
	}},
	{func(f *Facts) bool { return f.Object == nil }, says(Write, progressing, "It is being created.")},
	// Its deletion was somebody else's wish. It is created again when it is gone.
	{func(f *Facts) bool { return f.Object.Deleting }, says(Rest, progressing, "Somebody deleted the object behind it. It is created again once that is gone.")},
	{func(f *Facts) bool { return !f.Object.Current }, says(Write, progressing, "It is being changed.")},
}

func says(verb Verb, as func(message string) Standing, message string) func(*Facts) Decision {
	return func(*Facts) Decision { return Decision{verb, as(message)} }
}

func deleting(message string) Standing {
	return Standing{Phase: "Deleting", Ready: "False", Reason: "Deleting", Message: message, Working: true}
}

func progressing(message string) Standing {
	return Standing{Phase: "Progressing", Ready: "Unknown", Reason: "Progressing", Message: message, Working: true}
}

func stalled(reason, message string) Standing {
	return Standing{Phase: "Failed", Ready: "False", Reason: reason, Message: message, Stalled: true}
}

// standingOf is the status of an instance whose object is current.
func standingOf(o *Object, approve string) Standing {
	switch {
	case !o.Observed:
		return progressing("It is being changed.")
	case o.Awaits != "":
		return awaiting(o, approve)
	case o.Stuck != "":
		return stalled("Failed", o.Stuck)
	case o.Ready == "True" && !o.Applied:
		return progressing(orElse(o.Message, "It is being created."))
	case o.Ready == "True":
		return Standing{Phase: "Ready", Ready: "True", Reason: "Ready", Message: "The resources match the spec."}
	case o.Ready == "False":
		return Standing{Phase: "Failed", Ready: "False", Reason: "Failed", Message: orElse(o.Message, "It failed, without a message."), Working: true}
	}
	return progressing(orElse(o.Message, "It is being changed."))
}

func awaiting(o *Object, approve string) Standing {
	return Standing{Phase: "AwaitingApproval", Ready: "Unknown", Reason: "AwaitingApproval",
		Message: "Plan " + o.Awaits + " waits for approval: " + orElse(o.Changes, "see it first") + ". Approve it with: " + approve}
}

// leaving is the status of an instance whose object is being deleted.
func leaving(f *Facts) Standing {
	o, blocked := f.Object, ""
	switch {
	case o.Awaits != "":
		s := awaiting(o, f.Approve)
		s.Phase, s.Ready, s.Reason = "Deleting", "False", "Deleting"
		return s
	case o.Stuck != "":
		blocked = o.Stuck
	case o.Ready == "False":
		blocked = o.Message
	}
	if blocked == "" {
		return deleting("Its resources are being destroyed.")
	}
	s := deleting("The deletion is blocked: " + blocked)
	if f.Abandoning != "" && !f.Abandon {
		s.Message += ". Fix that, or leave its resources, which nobody manages then: " + f.Abandoning
	}
	if o.Stuck != "" {
		s.Working, s.Stalled = false, true
	}
	return s
}

func blocked(by string) Standing {
	s := deleting("The deletion is blocked: " + by)
	s.Working, s.Stalled = false, true
	return s
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}
