// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package etcd

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
)

// Facts describe a store's directory.
type Facts struct {
	// Empty: the directory is empty, or has the remains of an interrupted first start.
	Empty bool
	// Cluster identifies the store.
	Cluster string

	log *changes
}

// Expect is what Check may assume.
type Expect struct {
	// Plausible reports whether a value can be what was stored; nil accepts everything.
	Plausible func(key, value []byte) bool
	// FullLog: the log's last file has its full length. Start ensures that, unless it was
	// interrupted.
	FullLog bool
}

// Check verifies a store and changes nothing; etcd itself panics or hangs on a damaged one. After
// an orderly stop Check finds every changed bit; after a crash, what checksums reveal.
func Check(dir string, expect Expect) (Facts, error) {
	member := filepath.Join(dir, memberDir)
	if _, err := os.Stat(filepath.Join(dir, beginningName)); err == nil {
		return Facts{Empty: true}, nil
	}
	if _, err := os.Stat(member); errors.Is(err, os.ErrNotExist) {
		return Facts{Empty: true}, nil
	} else if err != nil {
		return Facts{}, fmt.Errorf("check the store: %w", err)
	}
	s, err := readSeal(dir)
	if err != nil {
		return Facts{}, err
	}
	if s == nil {
		return checkCrashed(dir, expect)
	}
	err = s.check(dir)
	var damage *DamageError
	if errors.As(err, &damage) && s.isStale(dir) {
		return checkCrashed(dir, expect)
	}
	return Facts{Cluster: s.Cluster}, err
}

// checkCrashed checks a store that was not stopped cleanly.
func checkCrashed(dir string, expect Expect) (Facts, error) {
	database := filepath.Join(dir, databaseName)
	if _, err := os.Stat(database); errors.Is(err, os.ErrNotExist) {
		return Facts{}, damaged("%s is missing", databaseName)
	}
	index, err := checkDatabase(database, expect.Plausible)
	if err != nil {
		return Facts{}, err
	}
	log, err := readChanges(filepath.Join(dir, memberDir, "wal"), expect.FullLog && !starting(dir))
	var damage *DamageError
	if err == nil {
		base, broken := log.base()
		switch err = broken; {
		case err != nil:
		case index < base.Index:
			return Facts{}, damaged("%s is older than the log: it ends with change %d, which the log no longer has", databaseName, index)
		case index > log.last:
			err = damaged("member/wal ends with change %d, and the database has %d", log.last, index)
		}
	}
	if errors.As(err, &damage) {
		damage.DatabaseIsWhole = true
	}
	if err != nil {
		return Facts{}, err
	}
	return Facts{Cluster: strconv.FormatUint(log.cluster, 16), log: log}, nil
}

// Rebuild makes a store from the database of another one that has lost its log. Changes that were
// only in the log are lost.
func Rebuild(from, dir, token string, log *slog.Logger) error {
	return restore(filepath.Join(from, databaseName), dir, token, true, log)
}
