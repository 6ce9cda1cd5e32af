// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"errors"

	"golang.org/x/sys/unix"

	"github.com/yuba-dev/yuba/internal/run"
)

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

// checkFree fails when too little is free to begin an apply: one that fails for want of space may lose its state.
func (j *job) checkFree() error {
	for _, dir := range []string{j.opts.WorkRoot, j.opts.Dir} {
		var stat unix.Statfs_t
		if err := unix.Statfs(dir, &stat); err != nil {
			return failed("", "ask for the free space of %s: %w", dir, err)
		}
		if free := int64(stat.Bavail) * stat.Bsize; free < j.opts.MinFree {
			return failed(run.FailureDisk, "apply %s: only %d MiB are free in %s, and an apply that cannot store its state loses it (at least %d MiB are wanted). Nothing was changed. Make room; the next attempt goes on by itself",
				j.spec.Stack, free>>20, dir, j.opts.MinFree>>20)
		}
	}
	return nil
}
