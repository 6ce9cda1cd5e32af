// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package kustomize

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	// MaxMemory is what a process may have: 5000 objects with patches take a quarter of it.
	MaxMemory = 1 << 30
	// MaxProcessor is how long a process may compute: 5000 objects that are compared each with each take a third of it.
	MaxProcessor = 150 * time.Second
	// MaxBuilt is what all objects of a build may have as JSON.
	MaxBuilt = 128 << 20
)

// ExceededError says that a build takes more than builds may.
type ExceededError struct {
	// Limit is what it took more of, in words.
	Limit string
}

func (e *ExceededError) Error() string { return "kustomize takes more than " + e.Limit }

// Programs are what a process is started with.
type Programs struct {
	// Kustomize is yuba-kustomize, Sandbox the yuba-sandbox that confines it.
	Kustomize, Sandbox string
}

// Process is a program that builds. It is used by one goroutine.
type Process struct {
	ctx    context.Context
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	errors *beginning
	ended  error
	over   bool
}

// Start starts a process, which lives until Close or until the context ends.
func (p Programs) Start(ctx context.Context) (*Process, error) {
	// It reads nothing but itself.
	cmd := exec.CommandContext(ctx, p.Sandbox, "-background", "-rx", p.Kustomize, "--", p.Kustomize)
	cmd.Env, cmd.Dir = []string{}, "/"
	s := &Process{ctx: ctx, cmd: cmd, errors: &beginning{}}
	cmd.Stderr = s.errors
	cmd.WaitDelay = time.Second
	var err error
	if s.in, err = cmd.StdinPipe(); err != nil {
		return nil, fmt.Errorf("start kustomize: %w", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("start kustomize: %w", err)
	}
	s.out = bufio.NewReaderSize(out, 64<<10)
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start kustomize: %w", err)
	}
	return s, nil
}

// Run builds a directory of the tree. Errors of kustomize come as they are; an *ExceededError says that the process was
// ended because of its limits.
func (s *Process) Run(tree filesys.FileSystem, dir string) ([]*Object, error) {
	if err := send(s.in, message{Dir: dir}); err != nil {
		return nil, s.end(err)
	}
	var objects []*Object
	size := 0
	for {
		m, err := receive(s.out)
		switch {
		case err != nil:
			return nil, s.end(err)
		case m.Ask != nil:
			a := answered(tree, *m.Ask)
			if err := send(s.in, message{Answer: &a}); err != nil {
				return nil, s.end(err)
			}
		case m.Object != nil:
			if size += len(m.Object.JSON); size > MaxBuilt {
				return nil, &ExceededError{fmt.Sprintf("%d MiB for what it makes", MaxBuilt>>20)}
			}
			objects = append(objects, (*Object)(m.Object))
		case m.End != nil && m.End.Error != "":
			return nil, errors.New(m.End.Error)
		case m.End != nil:
			return objects, nil
		}
	}
}

// end says why a process does not answer any more.
func (s *Process) end(cause error) error {
	s.Close()
	state := s.cmd.ProcessState
	switch {
	case s.ctx.Err() != nil:
		return context.Cause(s.ctx)
	case s.errors.has("out of memory"), s.errors.has("cannot allocate memory"):
		return &ExceededError{fmt.Sprintf("%d MiB of memory", MaxMemory>>20)}
	case state != nil && state.UserTime()+state.SystemTime() >= MaxProcessor-time.Second:
		return &ExceededError{fmt.Sprintf("%s of the processor", MaxProcessor)}
	case s.errors.has("larger than messages may be"):
		return &ExceededError{fmt.Sprintf("%d MiB for one object", maxFrame>>20)}
	}
	// Its own words may quote objects.
	return fmt.Errorf("kustomize ended in the middle of a build (%v): %w", s.ended, cause)
}

// Close ends the process if it has not ended.
func (s *Process) Close() {
	if s.over {
		return
	}
	s.over = true
	_ = s.in.Close()         // it may be gone
	_ = s.cmd.Process.Kill() // nothing is left for it to do
	s.ended = s.cmd.Wait()
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
