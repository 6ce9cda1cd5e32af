// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package apart

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os/exec"
	"time"
)

// ExceededError says that a process took more than processes may.
type ExceededError struct {
	// Program is what the process does, in a word.
	Program string
	// Limit is what it took more of, in words.
	Limit string
}

func (e *ExceededError) Error() string { return e.Program + " takes more than " + e.Limit }

// Process is a program that answers. It is used by one goroutine.
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

// Finder finds a program that is installed with this one.
type Finder func(program string) (path string, err error)

// Start starts a program, yuba-NAME, behind yuba-sandbox. The process lives until Close or until the context ends.
func Start(ctx context.Context, find Finder, name string) (*Process, error) {
	sandbox, err := find("yuba-sandbox")
	if err != nil {
		return nil, err
	}
	program, err := find("yuba-" + name)
	if err != nil {
		return nil, err
	}
	// It reads nothing but itself.
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

// Send sends a message. After an error the process is over.
func (p *Process) Send(message any) error {
	if err := Send(p.in, message); err != nil {
		return p.end(err)
	}
	return nil
}

// Receive waits for a message. After an error the process is over; an *ExceededError says that its limits ended it.
func (p *Process) Receive(into any) error {
	if err := Receive(p.out, into); err != nil {
		return p.end(err)
	}
	return nil
}

// end says why a process does not answer any more.
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
	// Its own words may quote what it works on.
	return fmt.Errorf("%s ended before it was done (%v): %w", p.name, p.ended, cause)
}

// Close ends the process if it has not ended.
func (p *Process) Close() {
	if p.over {
		return
	}
	p.over = true
	_ = p.in.Close()         // it may be gone
	_ = p.cmd.Process.Kill() // nothing is left for it to do
	p.ended = p.cmd.Wait()
}

// beginning keeps the first of what a process says.
type beginning struct{ bytes.Buffer }

func (b *beginning) Write(p []byte) (int, error) {
	const most = 16 << 10
	if room := most - b.Len(); room > 0 {
		b.Buffer.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *beginning) has(text string) bool { return bytes.Contains(b.Bytes(), []byte(text)) }
