// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package confinement

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// Running is a program that [Start] started.
type Running struct {
	cmd    *exec.Cmd
	own    []*os.File
	copies sync.WaitGroup

	mu   sync.Mutex
	held bool
}

// Start starts a program with sockets for outputs that are not files. Processes of the same user
// could open a pipe below /proc, in spite of Landlock, but not a socket.
func Start(cmd *exec.Cmd) (*Running, error) {
	r := &Running{cmd: cmd}
	var theirs []*os.File
	defer func() { closeAll(theirs) }()
	for _, stream := range []*io.Writer{&cmd.Stdout, &cmd.Stderr} {
		to := *stream
		if _, file := to.(*os.File); file || to == nil {
			continue
		}
		own, their, err := socketPair()
		if err != nil {
			closeAll(r.own)
			return nil, fmt.Errorf("create a socket for the output of %s: %w", cmd.Path, err)
		}
		r.own, theirs, *stream = append(r.own, own), append(theirs, their), their
		r.copies.Go(func() { r.copy(to, own) })
	}
	if err := cmd.Start(); err != nil {
		closeAll(r.own)
		return nil, err
	}
	return r, nil
}

// copy reads one output to its end.
func (r *Running) copy(to io.Writer, from *os.File) {
	_, err := io.Copy(to, from)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.held = r.held || errors.Is(err, os.ErrDeadlineExceeded)
}

// Wait waits for the program's end and its output. If another process keeps that open for longer
// than patience after a success, the error is [exec.ErrWaitDelay].
func (r *Running) Wait(patience time.Duration) error {
	err := r.cmd.Wait()
	for _, own := range r.own {
		_ = own.SetReadDeadline(time.Now().Add(patience)) // a socket has one
	}
	r.copies.Wait()
	closeAll(r.own)
	if err == nil && r.held {
		return exec.ErrWaitDelay
	}
	return err
}

// socketPair returns two ends. Reading from our own does not block a thread.
func socketPair() (own, their *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, err
	}
	if err := unix.SetNonblock(fds[0], true); err != nil {
		return nil, nil, errors.Join(err, unix.Close(fds[0]), unix.Close(fds[1]))
	}
	return os.NewFile(uintptr(fds[0]), "output"), os.NewFile(uintptr(fds[1]), "output"), nil //nolint:gosec // descriptors are not negative
}

func closeAll(files []*os.File) {
	for _, file := range files {
		file.Close() //nolint:errcheck // of a socket there is nothing left to write
	}
}
