// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// Value is a secret value. It prints masked.
type Value string

const masked = "(hidden)"

// String implements fmt.Stringer.
func (Value) String() string { return masked }

// GoString implements fmt.GoStringer.
func (Value) GoString() string { return masked }

// MarshalText keeps values out of JSON and YAML.
func (Value) MarshalText() ([]byte, error) { return []byte(masked), nil }

// Reveal returns the text.
func (v Value) Reveal() string { return string(v) }

// Document is what one place of a store contains.
type Document struct {
	// Values are the values by part.
	Values map[string]Value
	// Book says where they come from.
	Book Book
}

// Book describes the values of a document. Stores keep it as JSON.
type Book struct {
	// Version is that of this format.
	Version int `json:"version"`
	// ID identifies the document of a store; a copy has that of its store as CopyOf instead.
	ID     string `json:"id,omitempty"`
	CopyOf string `json:"copyOf,omitempty"`
	// Environment is the name of the environment whose secrets these are.
	Environment string `json:"environment,omitempty"`
	// Secrets are the known secrets by name.
	Secrets map[string]Entry `json:"secrets,omitempty"`
	// Rotation is the one that is not finished; nil for none.
	Rotation *Rotation `json:"rotation,omitempty"`
}

// Strange says why a document is not the store of an environment; empty if it is, or if nobody has it yet.
func (b Book) Strange(environment string) string {
	switch {
	case b.CopyOf != "":
		return "it is a copy of the secrets of environment " + b.Environment
	case b.Environment != "" && b.Environment != environment:
		return "it has the secrets of environment " + b.Environment
	}
	return ""
}

// StrangeCopy says why a document is not a copy of another one; empty if it is, or if nobody has it yet.
func (b Book) StrangeCopy(of string) string {
	switch {
	case b.ID != "", b.CopyOf == "" && (len(b.Secrets) > 0 || b.Rotation != nil):
		return "it is no copy, but keeps the secrets of environment " + cmp.Or(b.Environment, "(unknown)")
	case b.CopyOf != "" && b.CopyOf != of:
		return "it is a copy of another store, of environment " + cmp.Or(b.Environment, "(unknown)")
	}
	return ""
}

// Owned returns the document as the store of an environment.
func (d Document) Owned(environment, id string) Document {
	out := d.Clone()
	out.Book.Environment, out.Book.ID = environment, cmp.Or(d.Book.ID, id)
	return out
}

// BookVersion is the version of [Book] that this program writes.
const BookVersion = 1

// Entry describes one secret.
type Entry struct {
	// Generator is the generator that made the value, as canonical text; empty if it was adopted.
	Generator string `json:"generator,omitempty"`
	// Made is when the value was made or adopted.
	Made time.Time `json:"made"`
	// Adopted: the value was there before Yuba knew it.
	Adopted bool `json:"adopted,omitempty"`
	// Expires is when a certificate ends.
	Expires *time.Time `json:"expires,omitempty"`
	// Parts are the names of its values.
	Parts []string `json:"parts"`
}

// The suffixes of parts that are not the current value.
const (
	Previous = "_previous"
	Retired  = "_retired"
)

// Plain is the suffix of keys that sops does not encrypt.
const Plain = "_unencrypted"

// Phase is a phase of a rotation.
type Phase string

// The phases.
const (
	// PhaseIntroduce: new and old value are valid, the new one is current.
	PhaseIntroduce Phase = "introduce"
	// PhaseBack: a dependent failed; the old value is current again, and the new one still valid.
	PhaseBack Phase = "back"
	// PhaseRetire: only one value is valid.
	PhaseRetire Phase = "retire"
	// PhaseRestore: a dependent failed without the old value; both are valid again.
	PhaseRestore Phase = "restore"
)

// Rotation is a rotation that is not finished.
type Rotation struct {
	// ID identifies it.
	ID string `json:"id"`
	// Names are the rotated secrets.
	Names []string `json:"names"`
	Phase Phase    `json:"phase"`
	// Dependents are those that were known when the rotation began, in their order.
	Dependents []string `json:"dependents,omitempty"`
	// Queue are the dependents that have not run in this phase, in order; Ran are those that have.
	Queue []string `json:"queue,omitempty"`
	Ran   []string `json:"ran,omitempty"`
	// Concerned are the dependents that may have read the value that goes.
	Concerned []string `json:"concerned,omitempty"`
	// Started is when the first step began, Since when the phase did.
	Started time.Time `json:"started"`
	Since   time.Time `json:"since"`
	// Back: the rotation is taken back, and the old value is the one that stays.
	Back bool `json:"back,omitempty"`
	// Failed is the last failure.
	Failed *Failure `json:"failed,omitempty"`
	// Replaced are the entries of the values that are not current.
	Replaced map[string]Entry `json:"replaced"`
	// Absent are those of their parts that have no such value, as somebody had removed it.
	Absent []string `json:"absent,omitempty"`
}

// Failure is a dependent that failed.
type Failure struct {
	Dependent string `json:"dependent"`
	// Message is not in copies and files of SOPS, whose books anybody may read.
	Message string    `json:"message,omitempty"`
	Phase   Phase     `json:"phase"`
	At      time.Time `json:"at"`
}

// String says what failed.
func (f *Failure) String() string {
	if f.Message == "" {
		return f.Dependent + " failed"
	}
	return f.Dependent + " failed: " + f.Message
}

// Silent returns the rotation without the message of a failure, which may quote what a program printed.
func (r *Rotation) Silent() *Rotation {
	if r == nil || r.Failed == nil {
		return r
	}
	out, failed := *r, *r.Failed
	failed.Message = ""
	out.Failed = &failed
	return &out
}

// Clone returns a copy that shares nothing with the document.
func (d Document) Clone() Document {
	out := Document{Values: maps.Clone(d.Values), Book: d.Book}
	if out.Values == nil {
		out.Values = map[string]Value{}
	}
	out.Book.Version = BookVersion
	out.Book.Secrets = maps.Clone(d.Book.Secrets)
	if out.Book.Secrets == nil {
		out.Book.Secrets = map[string]Entry{}
	}
	if r := d.Book.Rotation; r != nil {
		c := *r
		c.Names, c.Queue, c.Ran, c.Replaced = slices.Clone(r.Names), slices.Clone(r.Queue), slices.Clone(r.Ran), maps.Clone(r.Replaced)
		c.Dependents, c.Concerned, c.Absent = slices.Clone(r.Dependents), slices.Clone(r.Concerned), slices.Clone(r.Absent)
		out.Book.Rotation = &c
	}
	return out
}

// Made is a new value of a secret.
type Made struct {
	Name   string
	Entry  Entry
	Values map[string]Value
}

// Add returns the document with new secrets, whose parts must not be in it.
func (d Document) Add(all []Made) Document {
	out := d.Clone()
	for _, m := range all {
		out.Book.Secrets[m.Name] = m.Entry
		maps.Copy(out.Values, m.Values)
	}
	return out
}

// Adopt returns the document with entries for values that are in it.
func (d Document) Adopt(name string, e Entry) Document {
	out := d.Clone()
	out.Book.Secrets[name] = e
	return out
}

// Remove returns the document without a secret. No rotation may be under way, so the values with [Previous] and
// [Retired] are those of others.
func (d Document) Remove(name string) Document {
	out := d.Clone()
	for _, part := range out.Book.Secrets[name].Parts {
		delete(out.Values, part)
	}
	delete(out.Book.Secrets, name)
	return out
}
