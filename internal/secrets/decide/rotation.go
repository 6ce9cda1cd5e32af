// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Step is the next step of a rotation.
type Step struct {
	Do StepVerb
	// Dependent is the one to run.
	Dependent string
	// At is when an overlap ends.
	At      time.Time
	Message string
}

// StepVerb is what a step does.
type StepVerb string

// The verbs of steps.
const (
	// StepNone: no rotation is under way.
	StepNone StepVerb = "none"
	// StepRun: a dependent runs with the document as it is.
	StepRun StepVerb = "run"
	// StepWait: both values are valid until a time.
	StepWait StepVerb = "wait"
	// StepRetire: the value that is not current is removed.
	StepRetire StepVerb = "retire"
	// StepFinish: all dependents have run without it.
	StepFinish StepVerb = "finish"
)

// Next says what the next step of a rotation is. Overlap is how long both values stay valid.
func Next(b Book, overlap time.Duration, now time.Time) Step {
	r := b.Rotation
	switch {
	case r == nil:
		return Step{Do: StepNone}
	case len(r.Queue) > 0:
		return Step{Do: StepRun, Dependent: r.Queue[0], Message: fmt.Sprintf("run %s (%s)", r.Queue[0], phaseWords[r.Phase])}
	case r.Phase == PhaseRetire:
		return Step{Do: StepFinish, Message: "the rotation is complete"}
	case r.Phase == PhaseIntroduce && now.Before(r.Since.Add(overlap)):
		return Step{Do: StepWait, At: r.Since.Add(overlap), Message: "both values are valid"}
	}
	return Step{Do: StepRetire, Message: "remove the old value"}
}

var phaseWords = map[Phase]string{
	PhaseIntroduce: "step 1 of 2: the new value, with the old one still valid",
	PhaseBack:      "back to the old value, with the new one still valid",
	PhaseRetire:    "step 2 of 2: without the old value",
	PhaseRestore:   "both values are valid again",
}

// Words says what a phase means.
func (p Phase) Words() string { return phaseWords[p] }

// Overwritten returns the values of others, by the secret whose rotation would overwrite them: those that have the
// name of a new part, or of a part with [Previous] or [Retired]. No rotation may be under way.
func Overwritten(d Document, made []Made) map[string][]string {
	taken := map[string][]string{}
	for _, m := range made {
		old, known := d.Book.Secrets[m.Name]
		if !known {
			old.Parts = m.Entry.Parts // found in the store, and asked to be replaced
		}
		parts := slices.Compact(slices.Sorted(slices.Values(slices.Concat(old.Parts, m.Entry.Parts))))
		for _, part := range parts {
			names := []string{part + Previous, part + Retired}
			if !slices.Contains(old.Parts, part) {
				names = append(names, part)
			}
			for _, name := range names {
				if _, there := d.Values[name]; there {
					taken[m.Name] = append(taken[m.Name], name)
				}
			}
		}
	}
	return taken
}

// Introduce begins a rotation: the made values become current, and the old ones stay valid. See [Overwritten].
func Introduce(d Document, id string, made []Made, dependents []string, now time.Time) Document {
	out := d.Clone()
	r := &Rotation{ID: id, Phase: PhaseIntroduce, Dependents: slices.Clone(dependents), Queue: slices.Clone(dependents), Concerned: slices.Clone(dependents), Started: now, Since: now, Replaced: map[string]Entry{}}
	for _, m := range made {
		r.Names = append(r.Names, m.Name)
		old, known := out.Book.Secrets[m.Name]
		if !known {
			old = Entry{Adopted: true, Parts: m.Entry.Parts, Made: now}
		}
		// A removed value has no previous one; parts that the generator no longer makes end with the old value.
		for _, part := range old.Parts {
			if value, ok := out.Values[part]; ok {
				out.Values[part+Previous] = value
				delete(out.Values, part)
			} else {
				r.Absent = append(r.Absent, part)
			}
		}
		r.Replaced[m.Name] = old
		for part, value := range m.Values {
			out.Values[part] = value
		}
		out.Book.Secrets[m.Name] = m.Entry
	}
	out.Book.Rotation = r
	return out
}

// Ran records that the first dependent of the queue has run.
func Ran(d Document) Document {
	out := d.Clone()
	r := out.Book.Rotation
	r.Ran, r.Queue = append(r.Ran, r.Queue[0]), r.Queue[1:]
	return out
}

// Fail records that the first dependent of the queue failed, and turns back: from the first step to the
// old value, from the second one to both. On the way back, only the failure is recorded.
func Fail(d Document, message string, now time.Time) Document {
	out := d.Clone()
	r := out.Book.Rotation
	r.Failed = &Failure{Dependent: r.Queue[0], Message: short(message), Phase: r.Phase, At: now}
	again := append(slices.Clone(r.Ran), r.Queue[0])
	switch r.Phase {
	case PhaseIntroduce:
		swap(&out)
		// The others never saw the new value.
		r.Phase, r.Back, r.Concerned = PhaseBack, true, again
	case PhaseRetire:
		out.rename(Retired, Previous)
		r.Phase = PhaseRestore
	default:
		return out
	}
	r.Queue, r.Ran, r.Since = again, nil, now
	return out
}

// longest limits recorded messages: some stores have room for a few KiB, and a failure that cannot be recorded
// cannot be rolled back.
const longest = 500

// short is a message that each store accepts; SSM refuses {{.
func short(message string) string {
	for strings.Contains(message, "{{") {
		message = strings.ReplaceAll(message, "{{", "{")
	}
	message = strings.ToValidUTF8(message, "")
	if len(message) > longest {
		message = strings.ToValidUTF8(message[:longest], "") + " …"
	}
	return message
}

// swap makes the previous values current, and the current ones previous.
func swap(d *Document) {
	r := d.Book.Rotation
	var absent []string
	for _, name := range r.Names {
		current, old := d.Book.Secrets[name], r.Replaced[name]
		taken := map[string]Value{}
		for _, part := range current.Parts {
			if value, ok := d.Values[part]; ok {
				taken[part+Previous] = value
				delete(d.Values, part)
			} else {
				absent = append(absent, part)
			}
		}
		for _, part := range old.Parts {
			if value, ok := d.Values[part+Previous]; ok && !slices.Contains(r.Absent, part) {
				d.Values[part] = value
				delete(d.Values, part+Previous)
			}
		}
		for part, value := range taken {
			d.Values[part] = value
		}
		d.Book.Secrets[name], r.Replaced[name] = old, current
	}
	r.Absent = absent
}

// rename renames the values that are not current.
func (d *Document) rename(from, to string) {
	for _, part := range d.Book.Rotation.replaced() {
		if value, ok := d.Values[part+from]; ok {
			d.Values[part+to] = value
			delete(d.Values, part+from)
		}
	}
}

// replaced are the parts with values that are not current.
func (r *Rotation) replaced() (parts []string) {
	for _, e := range r.Replaced {
		parts = append(parts, e.Parts...)
	}
	return slices.DeleteFunc(parts, func(part string) bool { return slices.Contains(r.Absent, part) })
}

// Ours reports whether the value of a name is that of a secret, which Yuba made or adopted. Somebody may add others
// at any time, also under the names that a rotation will use.
func (d Document) Ours(name string) bool {
	for _, e := range d.Book.Secrets {
		if slices.Contains(e.Parts, name) {
			return true
		}
	}
	r := d.Book.Rotation
	if r == nil {
		return false
	}
	suffix := Previous
	if r.Phase == PhaseRetire {
		suffix = Retired
	}
	part, ok := strings.CutSuffix(name, suffix)
	return ok && slices.Contains(r.replaced(), part)
}

// Theirs are the names of values of others that the next document overwrites or lacks. Such a step must wait until
// somebody has put them elsewhere.
func Theirs(d, next Document) (names []string) {
	for name, value := range d.Values {
		if is, there := next.Values[name]; (!there || is != value) && !d.Ours(name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// Retire begins the second step: the values that are not current are no longer valid. They stay in the
// document, under another name, until all dependents have run.
func Retire(d Document, dependents []string, now time.Time) Document {
	out := d.Clone()
	r := out.Book.Rotation
	if r.Back {
		dependents = r.Concerned
	}
	out.rename(Previous, Retired)
	r.Phase, r.Queue, r.Ran, r.Since = PhaseRetire, slices.Clone(dependents), nil, now
	return out
}

// Finish ends a rotation: what is not current is forgotten.
func Finish(d Document) Document {
	out := d.Clone()
	for _, part := range out.Book.Rotation.replaced() {
		delete(out.Values, part+Retired)
	}
	// A secret that was lost before its rotation was taken back is lost again.
	for name, e := range out.Book.Secrets {
		if out.Book.Rotation.Back && slices.Contains(out.Book.Rotation.Names, name) && e.Adopted && len(e.Parts) > 0 {
			if _, there := out.Values[e.Parts[0]]; !there {
				delete(out.Book.Secrets, name)
			}
		}
	}
	out.Book.Rotation = nil
	return out
}

// Missing are the dependents of a rotation that are not among the known ones.
func Missing(b Book, known []string) []string {
	r := b.Rotation
	if r == nil {
		return nil
	}
	var list []string
	for _, name := range slices.Concat(r.Dependents, r.Queue, r.Concerned) {
		if !slices.Contains(known, name) && !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	return list
}

// Without returns the document without dependents that need not run any more.
func Without(d Document, names []string) Document {
	out := d.Clone()
	gone := func(name string) bool { return slices.Contains(names, name) }
	r := out.Book.Rotation
	r.Dependents, r.Queue, r.Concerned = slices.DeleteFunc(r.Dependents, gone), slices.DeleteFunc(r.Queue, gone), slices.DeleteFunc(r.Concerned, gone)
	return out
}
