// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/kit/filetree"
	"github.com/yuba-dev/yuba/internal/runs/confinement"
)

// NewUsers assigns users to the working directories and downloads. dir records the last one.
func NewUsers(dir, workRoot string) *confinement.Users {
	return &confinement.Users{File: filepath.Join(dir, "users"), Highest: func() (int, error) { return highestUser(workRoot) }}
}

// highestUser returns the highest user of a working directory.
func highestUser(workRoot string) (int, error) {
	records, err := filetree.Glob(workRoot, "*/*/"+RecordName)
	if err != nil {
		return 0, err
	}
	highest := 0
	for _, path := range records {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return 0, err
		}
		var record Record
		if json.Unmarshal(text, &record) == nil {
			highest = max(highest, record.User)
		}
	}
	return highest, nil
}
