// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package executor

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/yuba-dev/yuba/internal/runs/executor/records"
	"github.com/yuba-dev/yuba/internal/runs/run"
	"github.com/yuba-dev/yuba/internal/tofu/state"
)

// locks are those of managed states. A lock names its run, so a new server knows whose it is.
type locks struct{ opts *Options }

// info says in a state's lock for which run it is held.
func (l locks) info(rec run.Record) state.LockInfo {
	info := state.LockInfo{ID: rec.Spec.ID, Operation: "OperationTypeApply", Info: "yuba run " + rec.Spec.ID,
		Who: l.opts.Holder, Version: l.opts.Version, Created: time.Now().UTC(), Path: records.StateKey(rec).SecretName()}
	if rec.Spec.Operation.ByHand() {
		info.Operation = rec.Spec.Title()
		if rec.By != "" {
			info.Who = rec.By
		}
	}
	return info
}

// release releases the run's lock, if its kind takes one; never another's.
func (l locks) release(ctx context.Context, rec run.Record) error {
	if rec.Spec.Operation == run.OperationPlan || rec.Spec.Backend.Kind != run.BackendManaged {
		return nil
	}
	err := l.opts.States.Unlock(ctx, records.StateKey(rec), rec.Spec.ID)
	if err != nil && asLocked(err) == nil {
		return fmt.Errorf("release the lock of run %s of %s: %w", rec.Spec.ID, rec.Spec.Stack, err)
	}
	return nil
}

// asLocked is the error if it says that another holds the lock, else nil.
func asLocked(err error) *state.LockedError {
	var locked *state.LockedError
	errors.As(err, &locked)
	return locked
}
