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

// A member that is killed while it begins may leave a log without the entry that makes it a member of its own cluster;
// started again it would wait for a leader for ever. Until the member has answered once nobody can have written to it,
// so a beginning that was cut short is thrown away. A file beside the member's directory marks it.
const (
	beginningName = "beginning"
	memberDir     = "member"
)

// startingName is a file that is there while the member starts. At every start etcd cuts off its log behind what it has written,
// and lengthens it again: a kill between the two leaves a short one, and nothing is lost.
const startingName = "starting"

// starting says whether the last start was cut short.
func starting(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, startingName))
	return err == nil
}

// begin prepares the directory for a start: it clears away a beginning that was cut short and marks a new one.
func begin(dir string) error {
	mark, member := filepath.Join(dir, beginningName), filepath.Join(dir, memberDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("make etcd's directory: %w", err)
	}
	if _, err := os.Stat(mark); err == nil {
		if err := os.RemoveAll(member); err != nil {
			return fmt.Errorf("clear away etcd's first start, which was cut short: %w", err)
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

// begun says that the member has answered: from now on what it holds is kept.
func begun(dir string) error {
	for _, name := range []string{beginningName, startingName} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("unmark etcd's start: %w", err)
		}
	}
	if err := datadir.SyncDir(dir); err != nil {
		return fmt.Errorf("unmark etcd's start: %w", err)
	}
	return nil
}
