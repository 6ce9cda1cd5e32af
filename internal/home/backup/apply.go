// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package backup

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/yuba-dev/yuba/internal/home/datadir"
	"github.com/yuba-dev/yuba/internal/home/etcd"
)

const (
	pendingName   = "restore.pending"
	stagingPrefix = "restore.staging-"
	// journalName is a file in restore.pending with the name of the directory for the old data. A
	// restore that continues must use the same directory.
	journalName   = "journal"
	etcdName      = "etcd"
	replacedStamp = "before-restore-20060102T150405Z"
)

func pending(dir datadir.Dir) string { return filepath.Join(string(dir), pendingName) }

// Pending reports whether a staged archive waits for the next start.
func Pending(dir datadir.Dir) bool {
	_, err := os.Stat(pending(dir))
	return err == nil
}

// ApplyPending replaces the data with a staged archive, or continues an interrupted restore.
// Nothing may use the directory meanwhile.
func ApplyPending(dir datadir.Dir, log *slog.Logger) error {
	if err := removeStaging(dir); err != nil {
		return err
	}
	if !Pending(dir) {
		return nil
	}
	if _, err := os.ReadDir(pending(dir)); err != nil { // another user's: retrying does not help
		return dir.Unusable(fmt.Errorf("restore the backup: %w", err))
	}
	if err := makeEtcd(dir, log); err != nil {
		return err
	}
	old, err := journal(dir)
	if err != nil {
		return fmt.Errorf("restore the backup: %w", err)
	}
	// The parts of a backup belong together. The next start records them again.
	if err := setAside(dir, old, filepath.Base(dir.Record())); err != nil {
		return fmt.Errorf("restore the backup: %w", err)
	}
	for _, name := range []string{etcdName, keysName, blobsName, registryName} {
		if err := swap(dir, old, name); err != nil {
			return fmt.Errorf("restore %s from the backup: %w", name, err)
		}
	}
	if err := os.RemoveAll(pending(dir)); err != nil {
		return fmt.Errorf("finish the restore: %w", err)
	}
	log.Info("restored the data directory from the backup", "previous", filepath.Join(string(dir), old))
	return datadir.SyncDir(string(dir))
}

// removeStaging removes the remains of a Stage that was killed.
func removeStaging(dir datadir.Dir) error {
	entries, err := os.ReadDir(string(dir))
	if err != nil {
		return fmt.Errorf("check for an unfinished restore: %w", err)
	}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), stagingPrefix) {
			if err := os.RemoveAll(filepath.Join(string(dir), entry.Name())); err != nil {
				return fmt.Errorf("remove an unfinished restore: %w", err)
			}
		}
	}
	return nil
}

// makeEtcd turns the snapshot into a store. Removing the snapshot marks the store as complete.
func makeEtcd(dir datadir.Dir, log *slog.Logger) error {
	snapshot := filepath.Join(pending(dir), snapshotName)
	if _, err := os.Stat(snapshot); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	store := filepath.Join(pending(dir), etcdName)
	if err := os.RemoveAll(store); err != nil {
		return fmt.Errorf("restore the API's store: %w", err)
	}
	if err := etcd.Restore(snapshot, store, rand.Text(), log); err != nil {
		return err
	}
	err := syncTree(store)
	if err == nil {
		err = os.Remove(snapshot)
	}
	if err != nil {
		return fmt.Errorf("restore the API's store: %w", err)
	}
	return datadir.SyncDir(pending(dir))
}

// journal returns the name of the directory for the old data, and creates that directory.
func journal(dir datadir.Dir) (string, error) {
	path := filepath.Join(pending(dir), journalName)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		data = []byte(time.Now().UTC().Format(replacedStamp))
		err = datadir.WriteFile(path, data, 0o600)
	}
	if err != nil {
		return "", err
	}
	old := string(data)
	return old, os.MkdirAll(filepath.Join(string(dir), old), 0o700)
}

// swap moves the old item away and the new one in. It can continue after an interruption: if the
// new item is gone, all is done; if the current one is gone, the first half is.
func swap(dir datadir.Dir, old, name string) error {
	current := filepath.Join(string(dir), name)
	replacement := filepath.Join(pending(dir), name)
	if _, err := os.Stat(replacement); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err := setAside(dir, old, name); err != nil {
		return err
	}
	if err := os.Rename(replacement, current); err != nil {
		return err
	}
	return datadir.SyncDir(string(dir))
}

// setAside moves a part of the data directory, if it exists, to the directory for the old data.
func setAside(dir datadir.Dir, old, name string) error {
	err := os.Rename(filepath.Join(string(dir), name), filepath.Join(string(dir), old, name))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
