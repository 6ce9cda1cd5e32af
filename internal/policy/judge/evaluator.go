// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package judge

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	yubav1 "github.com/yuba-dev/yuba/api/yuba/v1alpha1"
	"github.com/yuba-dev/yuba/internal/policy/facts"
	"github.com/yuba-dev/yuba/internal/policy/rego"
)

// BundleStore keeps the rules from sources.
type BundleStore interface {
	Get(ctx context.Context, key string, limit int64) ([]byte, error)
	PutBytes(ctx context.Context, key string, data []byte) error
	Delete(ctx context.Context, key string) error
	// Keys lists the keys that begin with a prefix, and when each was written.
	Keys(ctx context.Context, prefix string) (map[string]time.Time, error)
}

// MemoryStore keeps rules from sources for one command.
type MemoryStore map[string][]byte

// Add keeps a bundle.
func (m MemoryStore) Add(b *rego.Bundle) error {
	packed, err := b.Pack()
	m[bundleKey(b.Digest)] = packed
	return err
}

// Get implements [BundleStore].
func (m MemoryStore) Get(_ context.Context, key string, _ int64) ([]byte, error) {
	if packed, there := m[key]; there {
		return packed, nil
	}
	return nil, fmt.Errorf("%s is not kept", key)
}

// PutBytes implements [BundleStore].
func (m MemoryStore) PutBytes(_ context.Context, key string, data []byte) error {
	m[key] = data
	return nil
}

// Delete implements [BundleStore].
func (m MemoryStore) Delete(_ context.Context, key string) error {
	delete(m, key)
	return nil
}

// Keys implements [BundleStore].
func (m MemoryStore) Keys(context.Context, string) (map[string]time.Time, error) { return nil, nil }

// Evaluator evaluates rules in Rego. It is safe for concurrent use.
type Evaluator struct {
	Engine *rego.Engine
	Store  BundleStore

	mu      sync.Mutex
	bundles map[string]*rego.Bundle
}

const (
	// bundlePrefix begins the keys of stored bundles.
	bundlePrefix = "policies/bundles/"
	// maxPacked limits a stored bundle: JSON escapes make it longer.
	maxPacked = 8 * rego.MaxBytes
	// maxKept limits the bundles in memory.
	maxKept = 16
)

func bundleKey(digest string) string { return bundlePrefix + strings.TrimPrefix(digest, "sha256:") }

// bundle returns the rules of a source.
func (e *Evaluator) bundle(ctx context.Context, inForce *yubav1.PolicyBundle, s *source) (*rego.Bundle, error) {
	switch {
	case s.inline != nil:
		return s.inline, nil
	case inForce == nil:
		return nil, fmt.Errorf("%s: there are no rules from %s yet", s.at, s.ref)
	}
	e.mu.Lock()
	known := e.bundles[inForce.Digest]
	e.mu.Unlock()
	if known != nil {
		return known, nil
	}
	packed, err := e.Store.Get(ctx, bundleKey(inForce.Digest), maxPacked)
	if err != nil {
		return nil, fmt.Errorf("%s: read the rules of %s at %s: %w", s.at, s.ref, inForce.Revision, err)
	}
	b, err := rego.Unpack(packed, inForce.Digest)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.at, err)
	}
	e.keep(b)
	return b, nil
}

func (e *Evaluator) keep(b *rego.Bundle) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.bundles) >= maxKept || e.bundles == nil {
		e.bundles = map[string]*rego.Bundle{}
	}
	e.bundles[b.Digest] = b
}

// check compiles the rules of a source.
func (e *Evaluator) check(ctx context.Context, inForce *yubav1.PolicyBundle, s *source) error {
	b, err := e.bundle(ctx, inForce, s)
	if err != nil {
		return err
	}
	if _, err := e.Engine.Load(ctx, b, s.pkg); err != nil {
		return fmt.Errorf("%s: %w", s.at, err)
	}
	return nil
}

// outcome is the result of rules; clock is true if they read the time.
type outcome struct {
	found *rego.Findings
	clock bool
	err   error
}

// memo keeps the outcome of rules for one document.
type memo struct {
	mu   sync.Mutex
	at   time.Time
	last *outcome
}

// evaluate evaluates rules, once for each document. A document can stay for long: errors, and results
// that depend on the time, are only kept for the same judgement.
func (e *Evaluator) evaluate(ctx context.Context, inForce *yubav1.PolicyBundle, s *source, f *facts.Document, now time.Time) outcome {
	b, err := e.bundle(ctx, inForce, s)
	if err != nil {
		return outcome{err: err}
	}
	m := f.Once("rego "+b.Digest+" "+s.pkg, func() any { return &memo{} }).(*memo)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil || (m.last.err != nil || m.last.clock) && !m.at.Equal(now) {
		o := e.evaluateNow(ctx, b, s, f, now)
		if ctx.Err() != nil {
			return o // of this judgement's budget
		}
		m.last, m.at = &o, now
	}
	return *m.last
}

func (e *Evaluator) evaluateNow(ctx context.Context, b *rego.Bundle, s *source, f *facts.Document, now time.Time) outcome {
	in := f.Once("rego input", func() any { return inputOf(f) }).(input)
	if in.err != nil {
		return outcome{err: in.err}
	}
	found, loaded, err := e.Engine.Evaluate(ctx, b, s.pkg, in.value, now)
	if err != nil {
		return outcome{err: fmt.Errorf("%s: %w", s.at, err)}
	}
	return outcome{found: found, clock: loaded.Clock}
}

type input struct {
	value *rego.Input
	err   error
}

// inputOf is the plan as Conftest reads it, and the facts beside it. Before the plan, there are only
// the facts.
func inputOf(f *facts.Document) input {
	members := map[string]json.RawMessage{}
	if f.Stage != facts.StagePrePlan || len(f.Show) > 0 {
		var err error
		if members, err = facts.Members(f.Show); err != nil {
			return input{err: fmt.Errorf("read the plan: %w", err)}
		}
	}
	text, err := json.Marshal(f)
	if err != nil {
		return input{err: fmt.Errorf("write the facts: %w", err)}
	}
	members["facts"] = text
	return input{value: rego.NewInput(members)}
}
