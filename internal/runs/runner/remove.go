// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package runner

import (
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// removeWorkspaces deletes the working directories of stacks that are gone, once nobody works in them. A directory that
// a newer stack of the same name has taken over stays.
func (r *runner) removeWorkspaces(stacks []run.Stack) {
	for _, s := range stacks {
		if !validID(s.Namespace) || !validID(s.Name) {
			continue
		}
		base := filepath.Join(r.opts.WorkRoot, s.Namespace, s.Name)
		unlock := r.workspaces.lock(base)
		if err := removeWorkspace(base, s.UID); err != nil {
			r.opts.Log.Warn("the working directory of a stack that is gone stays", "stack", s.String(), "error", err)
		}
		unlock()
	}
}

func removeWorkspace(base, uid string) error {
	data, err := os.ReadFile(filepath.Join(base, recordName))
	if err != nil {
		if os.IsNotExist(err) {
			return nil // it never had a run here
		}
		return err
	}
	var record workspaceRecord
	if err := json.Unmarshal(data, &record); err != nil || record.UID != uid {
		return err
	}
	if err := removeTree(base); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(base)) // the namespace's, which stays while it holds other stacks
	return nil
}
