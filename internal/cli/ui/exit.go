// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package ui

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
)

// The exit codes of "yuba diff", as of diff, kubectl diff and flux.
const (
	ExitDifferent  = 1
	ExitDiffFailed = 2
)

// The exit codes; "yuba help exit-codes" explains them.
const (
	ExitOK          = 0
	ExitFailure     = 1
	ExitUsage       = 2
	ExitNotFound    = 3
	ExitRunFailed   = 4
	ExitWaiting     = 5
	ExitRefused     = 6
	ExitInterrupted = 130
)

// CodedError is an error with its own exit code.
type CodedError struct {
	Code int
	Err  error
}

func (e *CodedError) Error() string { return e.Err.Error() }

func (e *CodedError) Unwrap() error { return e.Err }

// WithCode gives an error an exit code. An error without text ends the command silently.
func WithCode(code int, err error) error { return &CodedError{code, err} }

// IsNotFound reports whether an error has the exit code of a missing object.
func IsNotFound(err error) bool {
	var coded *CodedError
	return errors.As(err, &coded) && coded.Code == ExitNotFound
}

// Exitf is an error with an exit code.
func Exitf(code int, format string, args ...any) error {
	return &CodedError{code, fmt.Errorf(format, args...)}
}

// UsageErrorOf is an error about a command line, with the command that shows its help.
func UsageErrorOf(cmd *cobra.Command, err error) error {
	return &CodedError{ExitUsage, fmt.Errorf("%w\nSee:\n    %s --help", err, cmd.CommandPath())}
}

// UsageErrorf is an error about a command line.
func UsageErrorf(cmd *cobra.Command, format string, args ...any) error {
	return UsageErrorOf(cmd, fmt.Errorf(format, args...))
}
