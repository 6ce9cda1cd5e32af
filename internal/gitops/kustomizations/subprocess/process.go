// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package subprocess

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// ExceededError means that a process exceeded a limit.
type ExceededError struct {
	// Program is the name of the process.
	Program string
	// Limit is the limit in words.
	Limit string
}

func (e *ExceededError) Error() string { return e.Program + " needs more than " + e.Limit }

// Process is a running program. It is for one goroutine.
type Process struct {
	ctx    context.Context
	name   string
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *beginning
	ended  error
	over   bool
}

// Finder finds a program of this installation.
type Finder func(program string) (path string, err error)

// Start starts the program yuba-NAME in yuba-sandbox. It runs until Close, or until ctx ends.
func Start(ctx context.Context, find Finder, name string) (*Process, error) {
	sandbox, err := find("yuba-sandbox")
	if err != nil {
		return nil, err
	}
	program, err := find("yuba-" + name)
	if err != nil {
		return nil, err
	}
	// It can only read itself.
	cmd := exec.CommandContext(ctx, sandbox, "-background", "-rx", program, "--", program)
	cmd.Env, cmd.Dir = []string{}, "/"
	p := &Process{ctx: ctx, name: name, cmd: cmd, errors: &beginning{}}
	cmd.Stderr = p.errors
	cmd.WaitDelay = time.Second
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	return p, nil
}

// Send sends a message. An error ends the process.
func (p *Process) Send(message any) error {
	if err := Send(p.in, message); err != nil {
		return p.end(err)
	}
	return nil
}

// Receive waits for a message. An error ends the process; it is an *ExceededError after a limit.
func (p *Process) Receive(into any) error {
	if err := Receive(p.out, into); err != nil {
		return p.end(err)
	}
	return nil
}

// end ends the process, and explains why it does not respond.
func (p *Process) end(cause error) error {
	p.Close()
	state := p.cmd.ProcessState
	switch {
	case p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	case p.errors.has("out of memory"), p.errors.has("cannot allocate memory"):
		return &ExceededError{p.name, fmt.Sprintf("%d MiB of memory", MaxMemory>>20)}
	case state != nil && state.UserTime()+state.SystemTime() >= MaxProcessor-time.Second:
		return &ExceededError{p.name, fmt.Sprintf("%s of the processor", MaxProcessor)}
	case p.errors.has("larger than messages may be"):
		return &ExceededError{p.name, fmt.Sprintf("%d MiB for one object", MaxMessage>>20)}
	}
	// Its own errors may quote its input.
	return fmt.Errorf("%s ended too early (%v): %w", p.name, p.ended, cause)
}

// Close ends the process if it has not ended.
func (p *Process) Close() {
	if p.over {
		return
	}
	p.over = true
	_ = p.in.Close()         // it may have ended
	_ = p.cmd.Process.Kill() // its work is done
	p.ended = p.cmd.Wait()
}

// beginning keeps the beginning of a process's output.
type beginning struct{ bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	const most = 16 << 10
	if room := most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *beginning) has(text string) bool { return bytes.Contains(b.Bytes(), []byte(text)) }
