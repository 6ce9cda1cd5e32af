// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package decide

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Verb is what happens to a secret.
type Verb string

// The verbs.
const (
	// VerbKeep: nothing.
	VerbKeep Verb = "keep"
	// VerbMake: it does not exist, and is made.
	VerbMake Verb = "make"
	// VerbAdopt: values of its parts are there, and are kept; the book gets an entry.
	VerbAdopt Verb = "adopt"
	// VerbRotate: a person must rotate it.
	VerbRotate Verb = "rotate"
	// VerbRetire: nobody declares it any more.
	VerbRetire Verb = "retire"
)

// The reasons.
const (
	ReasonPresent     = "Present"
	ReasonMissing     = "Missing"
	ReasonFound       = "FoundInStore"
	ReasonChanged     = "GeneratorChanged"
	ReasonDue         = "RotationDue"
	ReasonExpires     = "CertificateExpires"
	ReasonIncomplete  = "PartMissing"
	ReasonPartly      = "PartlyFound"
	ReasonUndeclared  = "NotDeclared"
	ReasonSignerNewer = "SignerIsNewer"
)

// Declared is a secret as the environment declares it.
type Declared struct {
	Name string
	// Generator is its generator as canonical text.
	Generator string
	// Parts are the names of its values.
	Parts []string
	// Every is the age at which it must be rotated; 0 for never.
	Every time.Duration
	// SignedBy names the certificate that signs it.
	SignedBy string
}

// Decision says what happens to a secret, and why.
type Decision struct {
	Verb    Verb   `json:"verb"`
	Name    string `json:"name"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Urgent reports whether a person has something to do.
func (d Decision) Urgent() bool { return d.Verb == VerbRotate }

// Facts are what secrets are decided upon.
type Facts struct {
	Declared []Declared
	Book     Book
	// Present are the parts in the store.
	Present map[string]bool
	Now     time.Time
}

// Secrets decides about every secret: those that are declared, in their order, then the others by name.
func Secrets(f Facts) []Decision {
	var list []Decision
	declared := map[string]bool{}
	for _, s := range f.Declared {
		declared[s.Name] = true
		list = append(list, about(f, s))
	}
	for _, name := range slices.Sorted(maps.Keys(f.Book.Secrets)) {
		if !declared[name] {
			list = append(list, Decision{VerbRetire, name, ReasonUndeclared, "It is not declared any more and is kept; remove it with --prune"})
		}
	}
	return list
}

// rule handles one situation of a secret; it returns false if the situation does not apply.
type rule func(f Facts, s Declared, e Entry, known bool) (Decision, bool)

// rules are evaluated in order; the first match wins.
var rules = []rule{
	// A value that was there first may be in use: it stays.
	func(f Facts, s Declared, _ Entry, known bool) (Decision, bool) {
		found, lacks := split(f.Present, s.Parts)
		switch {
		case known || len(found) == 0:
			return Decision{}, false
		case len(lacks) > 0:
			return Decision{VerbRotate, s.Name, ReasonPartly, fmt.Sprintf("The store has %s without %s. Rotate it to make both", list(found), list(lacks))}, true
		}
		return Decision{VerbAdopt, s.Name, ReasonFound, "The store has a value that Yuba did not make; it is kept, and its age counts from now on"}, true
	},
	func(_ Facts, s Declared, _ Entry, known bool) (Decision, bool) {
		return Decision{VerbMake, s.Name, ReasonMissing, "It does not exist yet"}, !known
	},
	// Somebody removed a value: making another one would be a rotation that nobody asked for.
	func(f Facts, s Declared, e Entry, _ bool) (Decision, bool) {
		_, lacks := split(f.Present, e.Parts)
		return Decision{VerbRotate, s.Name, ReasonIncomplete, fmt.Sprintf("Somebody removed %s from the store. Rotate it to make it anew", list(lacks))}, len(lacks) > 0
	},
	func(_ Facts, s Declared, e Entry, _ bool) (Decision, bool) {
		return Decision{VerbRotate, s.Name, ReasonChanged, "Its generator changed since the value was made: " + Difference(e.Generator, s.Generator) + ". The value is kept; rotate it to apply the change"},
			!e.Adopted && e.Generator != s.Generator
	},
	func(f Facts, s Declared, e Entry, _ bool) (Decision, bool) {
		if e.Expires == nil || f.Now.Before(e.Made.Add(e.Expires.Sub(e.Made)*2/3)) {
			return Decision{}, false
		}
		word := "expires"
		if !f.Now.Before(*e.Expires) {
			word = "expired"
		}
		return Decision{VerbRotate, s.Name, ReasonExpires, fmt.Sprintf("The certificate %s at %s. Rotate it", word, e.Expires.Format(time.RFC3339))}, true
	},
	func(f Facts, s Declared, e Entry, _ bool) (Decision, bool) {
		signer, ok := f.Book.Secrets[s.SignedBy]
		return Decision{VerbRotate, s.Name, ReasonSignerNewer, fmt.Sprintf("Its signer %s was rotated after it was made. Rotate it before the old signer ends", s.SignedBy)},
			ok && s.SignedBy != "" && signer.Made.After(e.Made)
	},
	func(f Facts, s Declared, e Entry, _ bool) (Decision, bool) {
		return Decision{VerbRotate, s.Name, ReasonDue, fmt.Sprintf("It is %s old, and is to be rotated every %s", Days(f.Now.Sub(e.Made)), Days(s.Every))},
			s.Every > 0 && f.Now.Sub(e.Made) >= s.Every
	},
}

func about(f Facts, s Declared) Decision {
	e, known := f.Book.Secrets[s.Name]
	for _, r := range rules {
		if d, ok := r(f, s, e, known); ok {
			return d
		}
	}
	return Decision{VerbKeep, s.Name, ReasonPresent, "It exists"}
}

func split(present map[string]bool, parts []string) (found, lacks []string) {
	for _, part := range parts {
		if present[part] {
			found = append(found, part)
		} else {
			lacks = append(lacks, part)
		}
	}
	return found, lacks
}

func list(names []string) string { return strings.Join(names, ", ") }

// Days writes a duration as people do: 90d, 36h, 5m.
func Days(d time.Duration) string {
	switch {
	case d >= 48*time.Hour:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	case d >= 2*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d >= 2*time.Minute:
		return fmt.Sprintf("%dm", d/time.Minute)
	}
	return fmt.Sprintf("%ds", max(0, d/time.Second))
}

// Difference says what changed between two generators in canonical text: words KEY=VALUE behind the
// kind.
func Difference(was, is string) string {
	old, now := words(was), words(is)
	keys := maps.Clone(old)
	maps.Copy(keys, now)
	var changes []string
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		if old[key] != now[key] {
			changes = append(changes, fmt.Sprintf("%s was %s, is %s", key, cmp.Or(old[key], "not set"), cmp.Or(now[key], "not set")))
		}
	}
	return strings.Join(changes, "; ")
}

func words(generator string) map[string]string {
	out := map[string]string{}
	for i, word := range strings.Fields(generator) {
		key, value, ok := strings.Cut(word, "=")
		if i == 0 && !ok {
			key, value = "the kind", word
		}
		out[key] = value
	}
	return out
}
