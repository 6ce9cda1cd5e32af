// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package session

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"os/exec"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/gitops/releases/wire"
)

// Finder finds a program of this installation.
type Finder func(program string) (path string, err error)

// process is a running program.
type process struct {
	ctx    context.Context
	cmd    *exec.Cmd
	conn   net.Conn
	errors *beginning
	once   sync.Once
}

// launch starts the program in yuba-sandbox. It runs until its end, or until ctx ends.
func launch(ctx context.Context, find Finder) (*process, error) {
	sandbox, err := find("yuba-sandbox")
	if err != nil {
		return nil, err
	}
	program, err := find("yuba-helm")
	if err != nil {
		return nil, err
	}
	// It can only read itself.
	cmd := exec.CommandContext(ctx, sandbox, "-background", "-rx", program, "--", program)
	cmd.Env, cmd.Dir = []string{}, "/"
	p := &process{ctx: ctx, cmd: cmd, errors: &beginning{}}
	cmd.Stderr = p.errors
	cmd.WaitDelay = time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start yuba-helm: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start yuba-helm: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start yuba-helm: %w", err)
	}
	p.conn = wire.Conn(out, in)
	return p, nil
}

// end ends the process if it has not ended.
func (p *process) end() {
	p.once.Do(func() {
		_ = p.cmd.Process.Kill() // its work is done
		_ = p.conn.Close()       // it may have ended
		_ = p.cmd.Wait()
	})
}

// LimitError means that the program exceeded a limit: the chart needs too much, whenever it is tried.
type LimitError struct{ Limit string }

func (e *LimitError) Error() string {
	return "the chart needs more than " + e.Limit + " to be read or rendered: look for a template that never ends or that grows without limit"
}

// why explains why the process does not answer.
func (p *process) why(limit time.Duration) error {
	p.end()
	switch {
	case p.ctx.Err() != nil:
		return context.Cause(p.ctx)
	case p.errors.has("out of memory"), p.errors.has("cannot allocate memory"), p.errors.has("stack exceeds"):
		return &LimitError{fmt.Sprintf("%d MiB of memory", wire.MaxMemory>>20)}
	case p.errors.has(wire.OutOfProcessor):
		return &LimitError{fmt.Sprintf("%s of the processor", cmp.Or(limit, wire.MaxProcessor))}
	}
	// What it wrote may quote its input.
	return fmt.Errorf("yuba-helm ended too early (%v)", p.cmd.ProcessState)
}

// beginning keeps the beginning of a process's output.
type beginning struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (b *beginning) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	const most = 16 << 10
	if room := most - b.text.Len(); room > 0 {
		b.text.Write(p[:min(room, len(p))])
	}
	return len(p), nil
}

func (b *beginning) has(text string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return bytes.Contains(b.text.Bytes(), []byte(text))
}
