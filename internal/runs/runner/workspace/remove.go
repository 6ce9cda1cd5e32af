// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/runs/run"
)

// Remove deletes the working directories of deleted stacks, once unused. It keeps one that a newer
// stack of the same name uses.
func (a *Area) Remove(stacks []run.Stack, log *slog.Logger) {
	for _, s := range stacks {
		if !isFileName(s.Namespace) || !isFileName(s.Name) {
			continue
		}
		unlock := a.Lock(s)
		if err := RemoveDir(a.base(s), s.UID); err != nil {
			log.Warn("cannot remove the working directory of a deleted stack", "stack", s.String(), "error", err)
		}
		unlock()
	}
}

// RemoveDir removes a stack's directory if it belongs to the stack with that uid.
func RemoveDir(base, uid string) error {
	data, err := os.ReadFile(filepath.Join(base, RecordName))
	if err != nil {
		if os.IsNotExist(err) {
			return nil // the stack never ran here
		}
		return err
	}
	var record Record
	if err := json.Unmarshal(data, &record); err != nil || record.UID != uid {
		return err
	}
	if err := RemoveTree(base); err != nil {
		return err
	}
	_ = os.Remove(filepath.Dir(base)) // the namespace's, unless it has other stacks
	return nil
}

// isFileName rejects names that are paths.
func isFileName(name string) bool {
	return name != "" && name == filepath.Base(name) && name[0] != '.'
}
