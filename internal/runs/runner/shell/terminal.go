// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"io"
)

// Terminal is a user's terminal, and what to run there.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	// Command runs instead of an interactive shell.
	Command []string
	// Shell is the user's own, empty for /bin/sh. Interactive is true if a user types.
	Shell       string
	Interactive bool
	// Term is the kind of the terminal.
	Term string
	// News prints a message to the user.
	News func(format string, args ...any)
	// Ready is called before the shell starts; may be nil.
	Ready func()

	// ExitCode is that of the shell or the command, after its end.
	ExitCode int
}

// NotHereError means that this machine does not execute the runs.
type NotHereError struct {
	Host, Dir string
	Err       error
}

func (e *NotHereError) Error() string {
	return fmt.Sprintf("open a shell: run the command on the machine that executes runs, %s, as the user that Yuba runs as. "+
		"Its directory %s is not usable here: %v", e.Host, e.Dir, e.Err)
}

func (e *NotHereError) Unwrap() error { return e.Err }
