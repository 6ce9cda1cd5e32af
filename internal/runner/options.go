// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"fmt"
	"log/slog"
	"path/filepath"
	"time"
)

// Options say where a runner works and with what.
type Options struct {
	// Dir is the runner's own directory: its lock, the server's address, the spool.
	Dir string
	// WorkRoot holds the stacks' working directories.
	WorkRoot string
	// ProviderMirror is a filesystem mirror of providers that tofu asks first; it need not exist.
	ProviderMirror string
	// Tofu is the program to run, Sandbox the yuba-sandbox that confines it.
	Tofu    string
	Sandbox string
	// Tools is a directory with other versions of the tool, side by side; it need not exist.
	Tools string
	// Capacity is how many runs are executed at once; 0 means 2.
	Capacity int
	Log      *slog.Logger
	Version  string
	// Build is the server's mark of what it started: it is named with every poll.
	Build string

	// ServerGone is how long an idle runner waits for a server that does not answer before it exits; 0 means 60 s.
	ServerGone time.Duration
	// MinFree is how many bytes must be free in Dir and WorkRoot before an apply begins; 0 means 64 MiB.
	MinFree int64
}

func (o Options) withDefaults() (Options, error) {
	if o.Capacity <= 0 {
		o.Capacity = 2
	}
	if o.ServerGone <= 0 {
		o.ServerGone = time.Minute
	}
	if o.MinFree <= 0 {
		o.MinFree = 64 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	for name, path := range map[string]*string{"Dir": &o.Dir, "WorkRoot": &o.WorkRoot, "Tofu": &o.Tofu, "Sandbox": &o.Sandbox} {
		if *path == "" {
			return o, fmt.Errorf("start the runner: option %s is empty. This is a bug in Yuba", name)
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, fmt.Errorf("start the runner: %w", err)
		}
		*path = absolute
	}
	for _, path := range []*string{&o.ProviderMirror, &o.Tools} {
		if *path == "" {
			continue
		}
		absolute, err := filepath.Abs(*path)
		if err != nil {
			return o, fmt.Errorf("start the runner: %w", err)
		}
		*path = absolute
	}
	return o, nil
}
