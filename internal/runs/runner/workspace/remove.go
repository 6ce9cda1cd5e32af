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

// Remove deletes the working directories of stacks that are gone, once nobody works in them. A directory that a newer stack
// of the same name has taken over stays.
func (a *Area) Remove(stacks []run.Stack, log *slog.Logger) {
	for _, s := range stacks {
		if !isFileName(s.Namespace) || !isFileName(s.Name) {
			continue
		}
		unlock := a.Lock(s)
		if err := RemoveDir(a.base(s), s.UID); err != nil {
			log.Warn("the working directory of a stack that is gone stays", "stack", s.String(), "error", err)
		}
		unlock()
	}
}

// RemoveDir removes a stack's directory if it belongs to the stack with that uid.
func RemoveDir(base, uid string) error {
	data, err := os.ReadFile(filepath.Join(base, RecordName))
	if err != nil {
		if os.IsNotExist(err) {
			return nil // it never had a run here
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
	_ = os.Remove(filepath.Dir(base)) // the namespace's, which stays while it holds other stacks
	return nil
}

// isFileName keeps the name of a stack from being a path.
func isFileName(name string) bool {
	return name != "" && name == filepath.Base(name) && name[0] != '.'
}
