// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package cause

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
)

// Kind says what a cause is of.
type Kind string

// The kinds.
const (
	Failure Kind = "failure"
	Drift   Kind = "drift"
)

// Facts are what is known about the problem of one stack.
type Facts struct {
	Namespace, Name string
	Kind            Kind
	// Reason and Message are those of the condition Ready.
	Reason, Message string
}

// Cause is what problems have in common.
type Cause struct {
	Kind   Kind
	Reason string
	// Type is the resource's type, such as aws_vpc; several are separated by commas. May be empty.
	Type string
	// Attributes are those that drift has changed, such as "tags", or "deleted".
	Attributes string
	// Text is the error text, or a sentence about the drift.
	Text string
}

// Key identifies a cause in addresses.
func (c Cause) Key() string {
	sum := sha256.Sum256([]byte(strings.ToLower(strings.Join([]string{string(c.Kind), c.Reason, c.Type, c.Attributes, c.Text}, "\x00"))))
	return hex.EncodeToString(sum[:6])
}

// Provider is the local name of the provider that the resource's type belongs to, such as aws; empty
// if there is none, or several.
func (c Cause) Provider() string {
	name := ""
	for _, kind := range strings.Split(c.Type, ", ") {
		first, _, found := strings.Cut(kind, "_")
		if !found || first == "terraform" || name != "" && name != first {
			return ""
		}
		name = first
	}
	return name
}

// maxRead bounds the part of a message that is read.
const maxRead = 20_000

// Of returns the cause of a stack's problem.
func Of(f Facts) Cause { return remembered.of(f) }

func read(f Facts) Cause {
	message := f.Message[:min(len(f.Message), maxRead)]
	c := Cause{Kind: f.Kind, Reason: f.Reason}
	if f.Kind == Drift {
		c.Type, c.Attributes = readDrift(message)
		c.Text = sentence(c.Type, c.Attributes)
		return c
	}
	e := readError(message)
	c.Type = typeOf(e.address)
	c.Text = normal(strings.TrimSpace(e.summary+" "+e.detail), append([]string{f.Namespace, f.Name}, namesIn(e.address)...))
	return c
}

func sentence(types, attributes string) string {
	switch {
	case types == "":
		return "Something differs"
	case attributes == "":
		return types + " differs"
	case attributes == deleted:
		return types + " is gone"
	case attributes == unplanned:
		return types + " is to be destroyed"
	}
	return "Changed: " + attributes
}

// Group is a cause and the stacks that have it.
type Group[T any] struct {
	Cause
	Key    string
	Stacks []T
}

// Groups groups stacks by their causes, the largest group first. facts returns the facts of one;
// ok is false if it has no problem.
func Groups[T any](stacks []T, facts func(T) (f Facts, ok bool)) []Group[T] {
	at := map[string]int{}
	var all []Group[T]
	for _, s := range stacks {
		f, ok := facts(s)
		if !ok {
			continue
		}
		c := Of(f)
		key := c.Key()
		i, known := at[key]
		if !known {
			i = len(all)
			at[key] = i
			all = append(all, Group[T]{Cause: c, Key: key})
		}
		all[i].Stacks = append(all[i].Stacks, s)
	}
	slices.SortStableFunc(all, func(a, b Group[T]) int {
		return cmp.Or(len(b.Stacks)-len(a.Stacks), cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Key, b.Key))
	})
	return all
}
