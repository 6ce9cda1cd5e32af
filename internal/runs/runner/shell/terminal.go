// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package shell

import (
	"fmt"
	"io"
)

// Terminal is where a person is: what their shell reads and writes, and what it runs.
type Terminal struct {
	In       io.Reader
	Out, Err io.Writer
	// Command is what to run instead of an interactive shell.
	Command []string
	// Shell is the person's own, empty for /bin/sh; Interactive says whether somebody types.
	Shell       string
	Interactive bool
	// Term is the kind of the terminal.
	Term string
	// News is called with what the person should know meanwhile.
	News func(format string, args ...any)
	// Ready is called when the shell is about to begin; may be nil.
	Ready func()

	ExitCode int
}

// NotHereError says that this process is not where runs are carried out.
type NotHereError struct {
	Host, Dir string
	Err       error
}

func (e *NotHereError) Error() string {
	return fmt.Sprintf("open a shell: that is done on the machine where runs are carried out, %s, as the user that Yuba runs as. "+
		"Here, its directory %s is of no use: %v", e.Host, e.Dir, e.Err)
}

func (e *NotHereError) Unwrap() error { return e.Err }
