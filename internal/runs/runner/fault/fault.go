// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// Failure is an error that ends a run.
type Failure struct {
	Step    run.Step
	Outcome run.Outcome // empty: failed
	Class   run.Failure
	Err     error
	// Said has the tool's diagnostics.
	Said diagnostic.List
	// Printed has the errors of a tool without -json, read from its text. They decide only.
	Printed diagnostic.List
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// Diagnostics are the tool's errors, however it reported them.
func (f *Failure) Diagnostics() diagnostic.List {
	if len(f.Said) > 0 {
		return f.Said
	}
	return f.Printed
}

// InLog reports whether the log has exactly this error already, from the tool.
func (f *Failure) InLog() bool { return len(f.Said) > 0 && f.Err.Error() == f.Said.Error() }

// New makes a failure of a class, which may be empty.
func New(class run.Failure, format string, args ...any) error {
	return &Failure{Class: class, Err: fmt.Errorf(format, args...)}
}

// OfTool returns a failure without an outcome, such as one that a tool reported; else nil.
func OfTool(err error) *Failure {
	var f *Failure
	if !errors.As(err, &f) || f.Outcome != "" {
		return nil
	}
	return f
}

// DiskFull reports whether err means a full disk.
func DiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// DiskClass is the class of a failure to write: a full disk, or none.
func DiskClass(err error) run.Failure {
	if DiskFull(err) {
		return run.FailureDisk
	}
	return ""
}
