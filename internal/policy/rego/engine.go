// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/rego/wire"
)

const (
	// Timeout limits the evaluation of one bundle, in time of the processor.
	Timeout = 5 * time.Second
	// callTimeout limits each call by the clock, for busy machines and for functions of OPA that do
	// not end before.
	callTimeout = 45 * time.Second
	// processes limits the running processes: a slow policy holds up one of them.
	processes = 2
	// maxIdle is how long a process lives without work.
	maxIdle = 2 * time.Minute
)

// Engine evaluates bundles. It is safe for concurrent use.
type Engine struct {
	find Finder
	// idle has a place for each process; nil is one that is not started.
	idle chan *process
	// waiting is true if retire is going to be called.
	waiting atomic.Bool
}

// NewEngine returns an engine. It starts processes when they are needed.
func NewEngine(find Finder) *Engine {
	e := &Engine{find: find, idle: make(chan *process, processes)}
	for range processes {
		e.idle <- nil
	}
	return e
}

// Close ends the processes. Calls in progress end first.
func (e *Engine) Close() {
	for range processes {
		if p := <-e.idle; p != nil {
			p.close()
		}
	}
	for range processes {
		e.idle <- nil
	}
}

// use lends a process. One that ended is dropped.
func (e *Engine) use(ctx context.Context, do func(p *process) error) error {
	var p *process
	select {
	case p = <-e.idle:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	defer func() {
		if p != nil {
			p.used = time.Now()
			e.retireLater()
		}
		e.idle <- p
	}()
	if p == nil {
		var err error
		if p, err = start(e.find); err != nil {
			return err
		}
	}
	err := do(p)
	if p.cmd.ProcessState != nil {
		p = nil
	}
	return err
}

// retireLater has retire called, once for however many uses.
func (e *Engine) retireLater() {
	if e.waiting.CompareAndSwap(false, true) {
		time.AfterFunc(maxIdle, e.retire)
	}
}

// retire ends processes that nobody has used for a while: they keep the last input.
func (e *Engine) retire() {
	e.waiting.Store(false)
	for range processes {
		select {
		case p := <-e.idle:
			if p != nil && time.Since(p.used) >= maxIdle {
				p.close()
				p = nil
			}
			if p != nil {
				e.retireLater()
			}
			e.idle <- p
		default: // its use ends, and has it retired
		}
	}
}

// Loaded describes a bundle.
type Loaded = wire.Loaded

// Load compiles the rules of a package in a bundle. Its error says what is wrong with them.
func (e *Engine) Load(ctx context.Context, b *Bundle, pkg string) (loaded *Loaded, err error) {
	err = e.use(ctx, func(p *process) error {
		loaded, err = p.load(ctx, b, pkg)
		return err
	})
	return loaded, err
}

func (p *process) load(ctx context.Context, b *Bundle, pkg string) (*Loaded, error) {
	key := b.Digest + " " + pkg
	if known := p.loaded[key]; known != nil {
		return known, nil
	}
	response, err := p.call(ctx, callTimeout, wire.Request{Load: &wire.Load{Digest: b.Digest, Package: pkg, Files: b.Files}})
	if err != nil {
		return nil, err
	}
	if response.Error != "" || response.Loaded == nil {
		return nil, errors.New(response.Error)
	}
	p.loaded[key] = response.Loaded
	return response.Loaded, nil
}

// Input is what rules judge. Its members are JSON.
type Input struct {
	id      string
	members map[string]json.RawMessage
}

// NewInput returns an input, which must not be changed.
func NewInput(members map[string]json.RawMessage) *Input { return &Input{rand.Text(), members} }

type (
	// Findings are what rules find.
	Findings = wire.Findings
	// Finding is one of them.
	Finding = wire.Finding
)

// Evaluate evaluates the rules of a package in a bundle at a time.
func (e *Engine) Evaluate(ctx context.Context, b *Bundle, pkg string, in *Input, now time.Time) (found *Findings, loaded *Loaded, err error) {
	err = e.use(ctx, func(p *process) error {
		found, loaded, err = p.evaluate(ctx, b, pkg, in, now)
		return err
	})
	return found, loaded, err
}

func (p *process) evaluate(ctx context.Context, b *Bundle, pkg string, in *Input, now time.Time) (*Findings, *Loaded, error) {
	for range 2 {
		loaded, err := p.load(ctx, b, pkg)
		if err != nil {
			return nil, nil, err
		}
		call := &wire.Evaluate{Digest: b.Digest, Package: pkg, Input: in.id, Now: now, Timeout: Timeout}
		parts := p.choose(call, loaded, in)
		response, err := p.call(ctx, callTimeout, wire.Request{Evaluate: call}, parts...)
		switch {
		case err != nil:
			return nil, nil, err
		case response.Error != "":
			return nil, nil, errors.New(response.Error)
		case response.NotLoaded:
			delete(p.loaded, b.Digest+" "+pkg)
			continue
		case response.Findings == nil:
			return nil, nil, errors.New("yuba-policy did not answer. This is a bug in Yuba")
		}
		return response.Findings, loaded, nil
	}
	return nil, nil, fmt.Errorf("yuba-policy does not keep the bundle %s. This is a bug in Yuba", b.Digest)
}

// choose selects the members that a bundle reads, and those of them that the process does not have.
func (p *process) choose(call *wire.Evaluate, loaded *Loaded, in *Input) (parts [][]byte) {
	if p.input != in.id {
		p.input, p.sent = in.id, map[string]bool{}
	}
	names := loaded.Reads
	if loaded.Everything {
		names = nil
		for name := range in.members {
			names = append(names, name)
		}
	}
	for _, name := range names {
		member, there := in.members[name]
		if !there {
			continue
		}
		call.Use = append(call.Use, name)
		if !p.sent[name] {
			p.sent[name] = true
			call.Send = append(call.Send, name)
			parts = append(parts, member)
		}
	}
	return parts
}

// Outcome is the result of a test.
type Outcome = wire.Outcome

// testTimeout limits all tests of a bundle together.
const testTimeout = 100 * time.Second

// Test runs the tests of a bundle whose names match a regular expression; empty for all.
func (e *Engine) Test(ctx context.Context, b *Bundle, run string) (outcomes []Outcome, err error) {
	err = e.use(ctx, func(p *process) error {
		response, err := p.call(ctx, testTimeout, wire.Request{Test: &wire.Test{Files: b.Files, Timeout: Timeout, Run: run}})
		if err == nil && response.Error != "" {
			err = errors.New(response.Error)
		}
		outcomes = response.Tests
		return err
	})
	return outcomes, err
}
