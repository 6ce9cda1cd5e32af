// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package rego

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"sync"
	"time"

	"github.com/yuba-dev/yuba/internal/policy/rego/wire"
)

// Finder finds a program of this installation.
type Finder func(program string) (path string, err error)

// process is a running yuba-policy. It is for one goroutine.
type process struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *beginning
	// loaded are the bundles that it has, input the identifier of the input and sent its members.
	loaded map[string]*wire.Loaded
	input  string
	sent   map[string]bool
	used   time.Time
}

// start starts yuba-policy in yuba-sandbox.
func start(find Finder) (*process, error) {
	sandbox, err := find("yuba-sandbox")
	if err != nil {
		return nil, err
	}
	program, err := find("yuba-policy")
	if err != nil {
		return nil, err
	}
	// It can only read itself. Its end is that of its input, so it needs no context.
	cmd := exec.Command(sandbox, "-rx", program, "--", program) //nolint:noctx // see above
	cmd.Env, cmd.Dir = []string{}, "/"
	p := &process{cmd: cmd, errors: &beginning{}, loaded: map[string]*wire.Loaded{}, sent: map[string]bool{}}
	cmd.Stderr = p.errors
	cmd.WaitDelay = time.Second
	if p.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start yuba-policy: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start yuba-policy: %w", err)
	}
	p.out = bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start yuba-policy: %w", err)
	}
	return p, nil
}

// errLate ends a process that does not answer.
var errLate = errors.New("no answer")

// call sends a request and waits for its response. An error means that the process has ended.
func (p *process) call(ctx context.Context, timeout time.Duration, request wire.Request, parts ...[]byte) (wire.Response, error) {
	limited, cancel := context.WithTimeoutCause(ctx, timeout, errLate)
	defer cancel()
	stop := context.AfterFunc(limited, func() { _ = p.cmd.Process.Kill() })
	defer stop()
	var response wire.Response
	err := wire.Send(p.in, request, parts...)
	if err == nil {
		err = wire.Receive(p.out, &response)
	}
	if err == nil {
		return response, nil
	}
	p.close()
	switch {
	case ctx.Err() != nil:
		return response, context.Cause(ctx)
	case errors.Is(context.Cause(limited), errLate):
		return response, fmt.Errorf("the rules were not evaluated within %s", timeout)
	case p.errors.has("out of memory"), p.errors.has("cannot allocate memory"):
		return response, fmt.Errorf("the rules need more than %d MiB of memory", wire.MaxMemory>>20)
	case p.errors.has("stack exceeds"):
		return response, errors.New("the rules call themselves too deeply")
	}
	// What it wrote may quote its input.
	return response, fmt.Errorf("yuba-policy ended too early (%s): %w", p.cmd.ProcessState, err)
}

// close ends the process if it has not ended.
func (p *process) close() {
	_ = p.in.Close()         // it may have ended
	_ = p.cmd.Process.Kill() // its work is done
	_ = p.cmd.Wait()
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
