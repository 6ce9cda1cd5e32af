// Copyright The Yuba Authors
// SPDX-License-Identifier: Apache-2.0

package vaultinit

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// lock makes a key file one call's until unlock, or until the process ends. The key file itself cannot be the lock,
// because it is replaced.
func lock(keyFile string) (unlock func(), err error) {
	path := keyFile + ".lock"
	for {
		file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
		if err != nil {
			return nil, fmt.Errorf("lock the key file: %w", err)
		}
		err = unix.Flock(int(file.Fd()), unix.LOCK_EX|unix.LOCK_NB) //nolint:gosec // descriptors are small
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			return nil, errors.Join(&RefusedError{fmt.Sprintf("another call works with the key file %s. Wait until it has ended, and run the same command again", keyFile)}, file.Close())
		case err != nil:
			return nil, errors.Join(fmt.Errorf("lock the key file by %s: %w", path, err), file.Close())
		}
		// The holder before may have removed the file that was opened here.
		now, statErr := os.Stat(path)
		mine, err := file.Stat()
		if err == nil && statErr == nil && os.SameFile(now, mine) {
			return func() { _, _ = os.Remove(path), file.Close() }, nil // a file that stays is no lock
		}
		if err := errors.Join(err, file.Close()); err != nil {
			return nil, fmt.Errorf("lock the key file by %s: %w", path, err)
		}
	}
}
