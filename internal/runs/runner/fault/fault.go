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

// Failure says what went wrong.
type Failure struct {
	Step    run.Step
	Outcome run.Outcome // empty: failed
	Class   run.Failure
	Err     error
	// Said is what the tool gave as the reason.
	Said diagnostic.List
}

func (f *Failure) Error() string { return f.Err.Error() }
func (f *Failure) Unwrap() error { return f.Err }

// InLog says whether the log has it already, because the tool said exactly that.
func (f *Failure) InLog() bool { return len(f.Said) > 0 && f.Err.Error() == f.Said.Error() }

// New is a failure of a class, which may be empty.
func New(class run.Failure, format string, args ...any) error {
	return &Failure{Class: class, Err: fmt.Errorf(format, args...)}
}

// OfTool is the failure in err that has no outcome of its own, such as one that a tool reported; nil for any other error.
func OfTool(err error) *Failure {
	var f *Failure
	if !errors.As(err, &f) || f.Outcome != "" {
		return nil
	}
	return f
}

// DiskFull says whether err means that a disk is full.
func DiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// DiskClass is the class of a failure to write: that of a full disk, or none.
func DiskClass(err error) run.Failure {
	if DiskFull(err) {
		return run.FailureDisk
	}
	return ""
}
