// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/home/datadir"
)

// If a member is killed during its first start, its log may lack its own membership; a restart
// would wait for a leader forever. No client can write before it answers, so such a start is
// discarded. A file beside the member's directory marks it.
const (
	beginningName = "beginning"
	memberDir     = "member"
)

// startingName is a file that exists while the member starts. etcd then truncates and extends its
// log: a kill in between leaves a short log, and loses nothing.
const startingName = "starting"

// starting reports whether the last start was interrupted.
func starting(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, startingName))
	return err == nil
}

// begin prepares the directory for a start: it removes an interrupted first start and marks a new
// one.
func begin(dir string) error {
	mark, member := filepath.Join(dir, beginningName), filepath.Join(dir, memberDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make etcd's directory: %w", err)
	}
	if _, err := os.Stat(mark); err == nil {
		if err := os.RemoveAll(member); err != nil {
			return fmt.Errorf("remove etcd's interrupted first start: %w", err)
		}
	}
	if err := datadir.WriteFile(filepath.Join(dir, startingName), nil, 0o600); err != nil {
		return fmt.Errorf("mark etcd's start: %w", err)
	}
	_, err := os.Stat(member)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := datadir.WriteFile(mark, nil, 0o600); err != nil {
		return fmt.Errorf("mark etcd's first start: %w", err)
	}
	return nil
}

// begun records that the member has answered. From now on its data is kept.
func begun(dir string) error {
	for _, name := range []string{beginningName, startingName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("unmark etcd's start: %w", err)
		}
	}
	return datadir.SyncDir(dir)
}
