// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package blame

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"github.com/yuba-dev/yuba/internal/tofu/state"
	"github.com/yuba-dev/yuba/internal/tofu/state/moves"
	"github.com/yuba-dev/yuba/internal/tofu/statefile"
)

// Kind is what a version did to a value.
type Kind string

// The kinds.
const (
	Created Kind = "created"
	Changed Kind = "changed"
	Removed Kind = "removed"
	// Known is for the oldest stored version: the value was there already.
	Known Kind = "first known"
)

// Event is a version that changed the value.
type Event struct {
	Kind    Kind          `json:"kind"`
	Version state.Version `json:"version"`
	// Was and Is are the values, with sensitive parts masked; empty where there is none.
	Was string `json:"was,omitempty"`
	Is  string `json:"is,omitempty"`
}

// Answer is the history of a value, newest first.
type Answer struct {
	Address   string   `json:"address"`
	Attribute []string `json:"attribute,omitempty"`
	Events    []Event  `json:"events"`
	// Read counts the versions that were read, Damaged those that cannot be read, Encrypted those that
	// OpenTofu encrypted.
	Read      int `json:"read"`
	Damaged   int `json:"damaged,omitempty"`
	Encrypted int `json:"encrypted,omitempty"`
}

// Target is a resource or an attribute of it.
type Target struct {
	Address string
	Path    []string
}

// ParseTarget parses ADDRESS or ADDRESS.ATTRIBUTE, such as module.a.aws_vpc.main[0].tags["Name"].
func ParseTarget(text string) (Target, error) {
	wrong := func(why string) (Target, error) {
		return Target{}, fmt.Errorf("%q: %s. Write it as tofu state list does, with the attribute behind it, such as aws_vpc.main.tags[\"Name\"]", text, why)
	}
	const maxTarget = 4096
	if len(text) > maxTarget {
		return wrong("it is too long")
	}
	traversal, diags := hclsyntax.ParseTraversalAbs([]byte(text), "", hcl.InitialPos)
	if diags.HasErrors() {
		return wrong("it is not an address")
	}
	steps := words(traversal)
	if steps == nil {
		return wrong("a key is neither a text nor a whole number")
	}
	// The address ends behind the name of the resource and its key.
	end := 0
	for end+1 < len(steps) && steps[end].text == "module" {
		end += 2
		if end < len(steps) && steps[end].key {
			end++
		}
	}
	if end < len(steps) && steps[end].text == "data" {
		end++
	}
	end += 2
	if end > len(steps) {
		return wrong("it names no resource")
	}
	if end < len(steps) && steps[end].key {
		end++
	}
	cut := len(text)
	if end < len(steps) {
		cut = steps[end].start
	}
	address, err := moves.ParseAddress(text[:cut])
	if err != nil {
		return Target{}, err
	}
	t := Target{Address: address.String()}
	for _, s := range steps[end:] {
		t.Path = append(t.Path, s.text)
	}
	return t, nil
}

// word is a step of a traversal: a name or a key.
type word struct {
	text  string
	key   bool
	start int
}

func words(t hcl.Traversal) (list []word) {
	for _, step := range t {
		switch s := step.(type) {
		case hcl.TraverseRoot:
			list = append(list, word{s.Name, false, s.SrcRange.Start.Byte})
		case hcl.TraverseAttr:
			list = append(list, word{s.Name, false, s.SrcRange.Start.Byte})
		case hcl.TraverseIndex:
			switch s.Key.Type() {
			case cty.String:
				list = append(list, word{s.Key.AsString(), true, s.SrcRange.Start.Byte})
			case cty.Number:
				list = append(list, word{s.Key.AsBigFloat().Text('f', -1), true, s.SrcRange.Start.Byte})
			default:
				return nil
			}
		}
	}
	return list
}

// Desk answers questions about the states of a store, a few at a time: each holds several whole states in
// memory.
type Desk struct {
	states *state.Store
	places chan struct{}
}

// NewDesk answers so many questions at once.
func NewDesk(states *state.Store, atOnce int) *Desk {
	return &Desk{states: states, places: make(chan struct{}, atOnce)}
}

// Of is [Of]. It waits for its turn, until ctx ends.
func (d *Desk) Of(ctx context.Context, key state.Key, t Target, all bool) (*Answer, error) {
	select {
	case d.places <- struct{}{}:
	case <-ctx.Done():
		return nil, fmt.Errorf("find who changed %s of %s: the server was busy with %d such questions: %w. Try again", t.Address, key, cap(d.places), ctx.Err())
	}
	defer func() { <-d.places }()
	return Of(ctx, d.states, key, t, all)
}

// errUnknown marks a version that is intact, but that Yuba cannot parse.
var errUnknown = errors.New("it is not a state that Yuba knows")

// Of finds the events of a target, the newest only or all.
func Of(ctx context.Context, states *state.Store, key state.Key, t Target, all bool) (*Answer, error) {
	answer := &Answer{Address: t.Address, Attribute: t.Path, Events: []Event{}}
	w := &walk{answer: answer, all: all}
	for r, err := range state.Readings(ctx, states, key, func(_ state.Version, data []byte) (*statefile.Attribute, error) { return value(data, t) }) {
		var damaged *state.CorruptError
		switch {
		case errors.Is(err, statefile.ErrEncrypted):
			answer.Encrypted++
			continue
		case errors.As(err, &damaged), errors.Is(err, errUnknown):
			answer.Damaged++
			continue
		case err != nil:
			return nil, fmt.Errorf("find who changed %s of %s: %w", t.Address, key, err)
		}
		answer.Read++
		if !w.take(r) {
			return answer, nil
		}
	}
	w.end()
	return answer, nil
}

// value is the target in a state; nil if it is not there.
func value(data []byte, t Target) (*statefile.Attribute, error) {
	resource, ok, err := statefile.Find(data, t.Address)
	switch {
	case errors.Is(err, statefile.ErrEncrypted):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errUnknown, err)
	case !ok:
		return nil, nil
	}
	a, err := resource.Attribute(t.Path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errUnknown, err)
	}
	return a, nil
}

// walk goes through the versions, newest first.
type walk struct {
	answer *Answer
	all    bool
	// newer is the version before, if any was read.
	newer *state.Reading[*statefile.Attribute]
}

// take takes the next older version. It reports whether to go on.
func (w *walk) take(r state.Reading[*statefile.Attribute]) bool {
	newer := w.newer
	w.newer = &r
	if newer == nil || digest(newer.Value) == digest(r.Value) {
		return true
	}
	e := Event{Version: newer.Version, Kind: Changed, Was: shown(r.Value), Is: shown(newer.Value)}
	switch {
	case r.Value == nil:
		e.Kind = Created
	case newer.Value == nil:
		e.Kind = Removed
	}
	w.answer.Events = append(w.answer.Events, e)
	return w.all
}

// end takes the oldest version.
func (w *walk) end() {
	if w.newer != nil && w.newer.Value != nil {
		w.answer.Events = append(w.answer.Events, Event{Version: w.newer.Version, Kind: Known, Is: shown(w.newer.Value)})
	}
}

func digest(a *statefile.Attribute) string {
	if a == nil {
		return ""
	}
	return a.Digest
}

func shown(a *statefile.Attribute) string {
	if a == nil {
		return ""
	}
	const maxShown = 4096
	if len(a.Shown) > maxShown {
		return strings.ToValidUTF8(a.Shown[:maxShown], "") + "…"
	}
	return a.Shown
}
