// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/etcd"
)

// Rebuild makes a new store from the current database, if its log is lost, and installs it like a
// backup. The old store goes to the directory aside. Nothing may use the data directory meanwhile.
func Rebuild(dir datadir.Dir, aside string, log *slog.Logger) error {
	staging, err := os.MkdirTemp(string(dir), stagingPrefix)
	if err != nil {
		return fmt.Errorf("rebuild the API's store: %w", err)
	}
	defer os.RemoveAll(staging)
	if err := etcd.Rebuild(dir.Etcd(), filepath.Join(staging, etcdName), rand.Text(), log); err != nil {
		return err
	}
	err = datadir.WriteFile(filepath.Join(staging, journalName), []byte(aside), 0o600)
	if err == nil {
		err = syncTree(staging)
	}
	if err == nil {
		err = os.Rename(staging, pending(dir))
	}
	if err != nil {
		return fmt.Errorf("rebuild the API's store: %w", err)
	}
	return ApplyPending(dir, log)
}
