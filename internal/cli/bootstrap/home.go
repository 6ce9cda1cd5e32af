// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/yuba-dev/yuba/internal/cli/session"
	"github.com/yuba-dev/yuba/internal/cli/ui"
)

// markName is the file of a data directory that says which command runs its home.
const markName = "bootstrap.json"

// mark is its content.
type mark struct {
	PID      int       `json:"pid"`
	Since    time.Time `json:"since"`
	Platform string    `json:"platform,omitempty"`
}

// running is a home that a command uses.
type running struct {
	// stop ends the home, if the command runs it, and waits for its end.
	stop func() error
	// ended gets the error of a home that ended by itself.
	ended <-chan error
	mark  func(platform string)
}

// open uses the server on the data directory, or runs one.
func (g *group) open(cmd *cobra.Command, h Home) (*session.Session, *running, error) {
	if g.remote(cmd) {
		s, err := g.Connect()
		return s, notOurs(), err
	}
	g.DataDir = g.DataDirectory()
	if err := os.MkdirAll(g.DataDir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make the directory of the platform: %w", err)
	}
	pid, since, held, err := g.Holder(g.DataDir)
	if err != nil {
		return nil, nil, err
	}
	if held {
		if m, ok := g.readMark(); ok && m.PID == pid {
			return nil, nil, g.busy(m)
		}
		g.News("Using the server that runs on %s (process %d, since %s).", g.DataDir, pid, since.Local().Format(time.DateTime))
		s, err := g.Connect()
		return s, notOurs(), err
	}
	r, err := g.serve(cmd, h)
	if err != nil {
		return nil, nil, err
	}
	s, err := g.Connect()
	if err != nil {
		return nil, nil, errors.Join(err, r.stop())
	}
	return s, r, nil
}

func notOurs() *running {
	return &running{stop: func() error { return nil }, mark: func(string) {}}
}

// busy is the error for a directory on which another bootstrap works.
func (g *group) busy(m mark) error {
	what := "a bootstrap"
	if m.Platform != "" {
		what = "the bootstrap of " + m.Platform
	}
	return ui.Exitf(ui.ExitRefused, "%s is running on %s: process %d, since %s. Follow it, or stop it with Ctrl-C there:\n    yuba bootstrap status --watch --home %s",
		what, g.DataDir, m.PID, m.Since.Local().Format(time.DateTime), g.DataDir)
}

// serve runs a home until the command ends.
func (g *group) serve(cmd *cobra.Command, h Home) (*running, error) {
	g.News("Starting Yuba on %s …", g.DataDir)
	ctx, cancel := context.WithCancel(cmd.Context())
	ready, done := make(chan struct{}), make(chan error, 1)
	go func() { done <- h.Serve(ctx, g.App, cmd, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-done:
		cancel()
		if err == nil {
			err = context.Canceled
		}
		// Another bootstrap may have been faster.
		if pid, _, held, problem := g.Holder(g.DataDir); problem == nil && held {
			if m, ok := g.readMark(); ok && m.PID == pid {
				return nil, g.busy(m)
			}
		}
		return nil, err
	}
	m := mark{PID: os.Getpid(), Since: time.Now().UTC().Truncate(time.Second)}
	write := func(platform string) {
		m.Platform = platform
		if text, err := json.Marshal(m); err == nil {
			os.WriteFile(g.markFile(), append(text, '\n'), 0o600) //nolint:errcheck // another command says less then
		}
	}
	write("")
	ended := make(chan error, 1)
	over := make(chan struct{})
	go func() {
		defer close(over)
		ended <- <-done
	}()
	stop := func() error {
		cancel()
		<-over
		os.Remove(g.markFile()) //nolint:errcheck // a mark of a process that is gone says nothing
		select {
		case err := <-ended:
			return err
		default:
			return nil
		}
	}
	return &running{stop: stop, ended: ended, mark: write}, nil
}

func (g *group) markFile() string { return filepath.Join(g.DataDir, markName) }

func (g *group) readMark() (m mark, ok bool) {
	text, err := os.ReadFile(g.markFile())
	return m, err == nil && json.Unmarshal(text, &m) == nil && m.PID != 0
}
