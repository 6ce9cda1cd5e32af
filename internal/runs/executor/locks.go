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

// locks are the locks of managed states. A lock names its run, so a new server can find it.
type locks struct{ opts *Options }

// info is the content of a state's lock: it names the run.
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

// release releases the run's lock, if it has a managed state; never the lock of another holder.
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
