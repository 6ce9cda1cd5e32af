// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/diagnostic"
)

// failure is how a step says what went wrong.
type failure struct {
	step    run.Step
	outcome run.Outcome // empty: failed
	class   run.Failure
	err     error
	// said is what the tool gave as the reason.
	said diagnostic.List
}

func (f *failure) Error() string { return f.err.Error() }
func (f *failure) Unwrap() error { return f.err }

// inLog tells whether the log has it already, because the tool said exactly that: nobody should read it twice.
func (f *failure) inLog() bool { return len(f.said) > 0 && f.err.Error() == f.said.Error() }

func failed(class run.Failure, format string, args ...any) error {
	return &failure{class: class, err: fmt.Errorf(format, args...)}
}

// ofTool is the failure of a tool in err that no wish ended; nil for any other error.
func ofTool(err error) *failure {
	var f *failure
	if !errors.As(err, &f) || f.outcome != "" {
		return nil
	}
	return f
}

// isDiskFull reports whether err says that nothing more can be stored.
func isDiskFull(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT)
}

// diskClass is the class of a failure to write.
func diskClass(err error) run.Failure {
	if isDiskFull(err) {
		return run.FailureDisk
	}
	return ""
}
