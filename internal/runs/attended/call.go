// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package attended

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/runner/fetch"
)

// Call is one tofu process.
type Call struct {
	Args []string
	// Stdin is only read by a console.
	Stdin       io.Reader
	Out, Errors io.Writer
	// Installs is true for init, which may write the directory of downloaded providers and gets the tokens
	// of registries: no provider runs then.
	Installs bool
	// Interactive keeps it in the terminal's session, so that it can read keys.
	Interactive bool
	// Data replaces .terraform as the directory of what init installs; empty for that.
	Data string
	// Disarmed is called for each part of a git repository that the call made and that was renamed.
	Disarmed func(was, is string)
	// Stopping is called when the call is canceled, before tofu is asked to stop.
	Stopping func()
}

// UnconfinedError says that the sandbox did not start tofu.
type UnconfinedError struct{ Text string }

func (e *UnconfinedError) Error() string {
	return fmt.Sprintf("confine tofu with yuba-sandbox: %s.\nThe program and its providers would run with all your files. If you trust them: --unconfined", e.Text)
}

// Exit codes of yuba-sandbox.
const (
	exitNoWall    = 3
	exitNoProgram = 127
)

// outputPatience is how long a provider that tofu left may hold the output.
const outputPatience = 2 * time.Second

// Run runs a call, and returns tofu's exit code. An error says that tofu did not run.
func (d *Desk) Run(ctx context.Context, c Call) (code int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if d.Sandbox == "" {
		return d.start(ctx, c, append([]string{d.Tool}, c.Args...))
	}
	writable, err := d.writable()
	if err != nil {
		return 0, err
	}
	grounds, err := watch(writable)
	if err != nil {
		return 0, err
	}
	code, err = d.start(ctx, c, d.line(c, writable))
	return code, errors.Join(err, disarm(grounds, c.Disarmed))
}

// start runs a command line to its end.
func (d *Desk) start(ctx context.Context, c Call, words []string) (code int, err error) {
	cmd := exec.Command(words[0], words[1:]...) //nolint:gosec,noctx // the person's own tofu; a canceled one is asked to stop, not killed
	cmd.Dir, cmd.Env = d.Dir, d.environ(c)
	if c.Data != "" {
		cmd.Env = append(cmd.Env, "TF_DATA_DIR="+c.Data)
	}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Stdin, c.Out, c.Errors
	var said lastWords
	if d.Sandbox != "" && !c.Interactive {
		if _, isFile := c.Errors.(*os.File); !isFile {
			var one sync.Mutex // Out and Errors may be the same writer
			cmd.Stdout, said.to, cmd.Stderr = oneAtATime(&one, c.Out), oneAtATime(&one, c.Errors), &said
		}
	}
	cmd.WaitDelay = outputPatience
	if !c.Interactive {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	}
	if err := cmd.Start(); err != nil {
		return 0, fmt.Errorf("start %s: %w", filepath.Base(words[0]), err)
	}
	ended := make(chan struct{})
	go func() {
		select {
		case <-ctx.Done():
			if c.Stopping != nil {
				c.Stopping()
			}
			_ = cmd.Process.Signal(os.Interrupt) // it may have ended
		case <-ended:
		}
	}()
	err = cmd.Wait()
	close(ended)
	var exit *exec.ExitError
	switch {
	case err == nil || errors.Is(err, exec.ErrWaitDelay):
		return 0, nil
	case !errors.As(err, &exit):
		return 0, fmt.Errorf("run tofu: %w", err)
	}
	code = exit.ExitCode()
	if code == exitNoProgram || code == exitNoWall {
		return code, &UnconfinedError{Text: said.text()}
	}
	return code, nil
}

// line is the command line of a call, in the sandbox.
func (d *Desk) line(c Call, writable []string) []string {
	tool := d.Tool
	if real, err := filepath.EvalSymlinks(tool); err == nil {
		tool = real
	}
	words := []string{d.Sandbox, "-require"}
	add := func(flag string, paths ...string) {
		for _, path := range paths {
			if path != "" {
				words = append(words, flag, path)
			}
		}
	}
	add("-rw", d.private, c.Data)
	add("-rw", writable...)
	add("-rw", fetch.SystemWritable...)
	if c.Installs {
		add("-rw", d.Cache)
	}
	add("-rx", d.Library, d.Cache, tool)
	add("-rx", fetch.SystemExecutable...)
	add("-rx", d.system...)
	add("-ro", d.Readable...)
	if d.mayKnowTokens(c) {
		add("-ro", d.guarded)
		add("-ro", d.ownFiles...)
	}
	add("-ro", fetch.SystemReadable...)
	return append(append(words, "--", tool), c.Args...)
}

// lastWords passes output on, and keeps the end of it.
type lastWords struct {
	to   io.Writer
	kept bytes.Buffer
}

// keptWords is more than the sandbox says.
const keptWords = 4 << 10

func (l *lastWords) Write(b []byte) (int, error) {
	if l.kept.Write(b); l.kept.Len() > keptWords {
		l.kept.Next(l.kept.Len() - keptWords)
	}
	if l.to == nil {
		return len(b), nil
	}
	return l.to.Write(b)
}

// locked is a writer that others use, too.
type locked struct {
	*sync.Mutex
	io.Writer
}

func oneAtATime(mu *sync.Mutex, w io.Writer) io.Writer {
	if _, isFile := w.(*os.File); isFile || w == nil {
		return w
	}
	return locked{mu, w}
}

func (l locked) Write(b []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.Writer.Write(b)
}

func (l *lastWords) text() string {
	text := bytes.TrimSpace(l.kept.Bytes())
	if len(text) == 0 {
		return "the reason is above"
	}
	return string(text)
}
